import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { dependenciesOf, dependentsOf } from './expected.ts'
import { nx, ROOT, readGraph } from './nx-projects.ts'

// Compares which projects Nx finds affected by a change of each package with the imports.

/** Projects that check the files of all packages, so that any change may affect them. */
const READ_ALL = new Set(['waymark', '@waymark/manifests', '@waymark/docs', '@waymark/boundaries'])

const { projects, dependencies: known } = readGraph()
const sources = globSync('{apps,libs,tools}/**/*.{ts,tsx,mjs}', {
  cwd: ROOT,
  // The boundaries name packages that they do not use.
  exclude: ['**/node_modules', '**/generated', '**/dist', 'tools/boundaries/src'],
}).map((file) => ({ path: file, text: readFileSync(path.join(ROOT, file), 'utf8') }))
const dependencies = dependenciesOf(projects, sources)

const listOf = (names: Iterable<string>): string => [...names].toSorted().join(', ') || 'none'
let wrong = 0
for (const { name } of projects.filter((project) => project.root !== '.')) {
  const found = dependentsOf(name, known)
  const expected = dependentsOf(name, dependencies)
  const missed = [...expected].filter((one) => !found.has(one))
  const needless = [...found].filter((one) => !expected.has(one) && !READ_ALL.has(one))
  wrong += missed.length + needless.length
  process.stdout.write(`${name}: ${expected.size} affected\n`)
  if (missed.length > 0) process.stdout.write(`  not found, although they import it: ${listOf(missed)}\n`)
  if (needless.length > 0)
    process.stdout.write(`  found, although they do not import it: ${listOf(needless)}\n`)
}
// The command itself, for one package: it must follow the graph.
const SAMPLE = '@waymark/coupon-service'
const file = `${projects.find(({ name }) => name === SAMPLE)?.root}/package.json`
const affected = JSON.parse(nx('show', 'projects', '--affected', `--files=${file}`, '--json')) as string[]
const answered = affected.filter((name) => !READ_ALL.has(name))
const inGraph = dependentsOf(SAMPLE, known)
if (listOf(answered) !== listOf(inGraph)) {
  wrong++
  process.stdout.write(`nx affected lists ${listOf(answered)} for ${file}, its graph ${listOf(inGraph)}\n`)
}
process.stdout.write(`${projects.length} projects, ${wrong} wrong\n`)
process.exitCode = wrong > 0 ? 1 : 0
