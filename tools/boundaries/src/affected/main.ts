import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { dependenciesOf, dependentsOf } from './expected.ts'
import { nx, ROOT, readProjects } from './nx-projects.ts'

// Compares which projects Nx finds affected by a change of each package with the imports. Takes a minute or two.

/** Projects that check the files of all packages, so that any change may affect them. */
const READ_ALL = new Set(['waymark', '@waymark/manifests', '@waymark/docs', '@waymark/boundaries'])

const projects = readProjects()
const sources = globSync('{apps,libs,tools}/**/*.{ts,tsx,mjs}', {
  cwd: ROOT,
  // The boundaries name packages that they do not use.
  exclude: ['**/node_modules', '**/generated', '**/dist', 'tools/boundaries/src'],
}).map((file) => ({ path: file, text: readFileSync(path.join(ROOT, file), 'utf8') }))
const dependencies = dependenciesOf(projects, sources)

const listOf = (names: Iterable<string>): string => [...names].toSorted().join(', ') || 'none'
let wrong = 0
for (const { name, root } of projects.filter((project) => project.root !== '.')) {
  const changed = ['package.json', 'project.json']
    .map((file) => path.join(root, file))
    .find((file) => existsSync(path.join(ROOT, file)))
  const found = new Set(
    JSON.parse(nx('show', 'projects', '--affected', `--files=${changed}`, '--json')) as string[],
  )
  const expected = dependentsOf(name, dependencies)
  const missed = [...expected].filter((one) => !found.has(one))
  const needless = [...found].filter((one) => !expected.has(one) && !READ_ALL.has(one))
  wrong += missed.length + needless.length
  process.stdout.write(`${name}: ${expected.size} affected\n`)
  if (missed.length > 0) process.stdout.write(`  not found, although they import it: ${listOf(missed)}\n`)
  if (needless.length > 0)
    process.stdout.write(`  found, although they do not import it: ${listOf(needless)}\n`)
}
process.stdout.write(`${projects.length} projects, ${wrong} wrong\n`)
process.exitCode = wrong > 0 ? 1 : 0
