import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ROOT, startProcess } from '@waymark/testing'
import { temporaryFolder } from './run.ts'

/** An empty folder in which packages are installed. */
export type EmptyFolder = {
  folder: string
  /** Runs a program to its end. Resolves to its output. @throws Error when it fails */
  run: (args: string[]) => Promise<string>
  /** Builds a package and puts it into the folder, beside what it depends on and nothing else. */
  install: (place: string) => Promise<{ name: string; bin?: { waymark: string } }>
  remove: () => Promise<void>
}

export const createEmptyFolder = async (): Promise<EmptyFolder> => {
  const { folder, remove } = await temporaryFolder()
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}')
  const run = async (args: string[]): Promise<string> => {
    const { ended, stdout, output } = startProcess(process.execPath, args, { cwd: folder, env: {} })
    if ((await ended) !== 0) throw new Error(`${args.join(' ')} failed:\n${output()}`)
    return stdout()
  }
  const install: EmptyFolder['install'] = async (place) => {
    await run([path.join(ROOT, place, 'build.ts')])
    const dist = path.join(ROOT, place, 'dist')
    const manifest = JSON.parse(await readFile(path.join(dist, 'package.json'), 'utf8'))
    const modules = path.join(folder, 'node_modules')
    await cp(dist, path.join(modules, manifest.name), { recursive: true })
    for (const name of Object.keys(manifest.dependencies)) {
      await mkdir(path.dirname(path.join(modules, name)), { recursive: true })
      await symlink(path.join(ROOT, 'node_modules', name), path.join(modules, name))
    }
    return manifest
  }
  return { folder, run, install, remove }
}
