import { nx, readGraph } from './nx-projects.ts'

// Prints the folders of the tests that a change since a commit can break: `folders.ts unit|integration|browser <base>`.

const [target = '', base = ''] = process.argv.slice(2)
if (base === '') throw new Error('Usage: npm run affected:folders -- unit|integration|browser <commit>')
const affected = new Set(
  JSON.parse(nx('show', 'projects', '--affected', `--base=${base}`, '--json')) as string[],
)
for (const { name, root, targets } of readGraph().projects) {
  if (!affected.has(name) || !targets.includes(target)) continue
  const tests = root.endsWith('/tests') ? root : `${root}/tests`
  process.stdout.write(`${target === 'unit' ? `${root}/src` : tests}/\n`)
}
