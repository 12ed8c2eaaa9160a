import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { shellVariables } from './shell-variables.ts'

// npm runs scripts in the root of the repository, but paths are relative to the user's directory.
const folders = [process.env.INIT_CWD, process.cwd()].filter((folder) => folder !== undefined)
const findFile = (file: string): string => {
  const places = folders.map((folder) => path.resolve(folder, file))
  return places.find((place) => existsSync(place)) ?? places[0] ?? file
}

// Prints the demo project's address and keys as shell variables, from demo.json: that of a standalone process unless a
// path is given, or `-` for standard input.
const [argument = path.join(process.env.WAYMARK_DATA_DIR || '.waymark', 'demo.json')] = process.argv.slice(2)
const file = argument === '-' ? 0 : findFile(argument)
try {
  process.stdout.write(shellVariables(readFileSync(file, 'utf8')))
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  process.stderr.write(
    `demo:env: ${reason}\nStart Waymark with npm start, and set WAYMARK_DATA_DIR here if it was set there.\n`,
  )
  process.exitCode = 1
}
