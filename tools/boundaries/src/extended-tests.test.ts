import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { CHAOS_TESTS, EXTENDED_TESTS } from '../../test-files.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const find = (...patterns: string[]): string[] =>
  globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules'] }).toSorted()

const tests = find('{apps,libs,tools}/*/{src,tests}/**/*.test.ts')
const inFull = new Set(find(...CHAOS_TESTS, ...EXTENDED_TESTS))
/** What does more in the full run. */
const IS_LONGER = /(?<![.\w])extent[<(]|process\.env\.CHAOS === 'whole'/
const ITSELF = /^libs\/testing\/|^tools\/boundaries\/src\/extended-tests/

/** The tests that import a file, also by files between. */
const testsThatImport = (file: string, seen = new Set<string>()): string[] => {
  if (seen.has(file)) return []
  seen.add(file)
  if (file.endsWith('.test.ts')) return [file]
  const folder = path.dirname(file)
  return find(`${folder}/**/*.ts`, `${path.dirname(folder)}/*.test.ts`)
    .filter((one) => read(one).includes(`/${path.basename(file)}'`))
    .flatMap((one) => testsThatImport(one, seen))
}

describe('the tests that `npm test` shortens', () => {
  const shortened = find('{apps,libs,tools}/*/{src,tests}/**/*.ts').filter(
    (file) => !ITSELF.test(file) && IS_LONGER.test(read(file)),
  )

  it('are all found', () => {
    expect(shortened).toContain('libs/domain/src/decision/bucket.test.ts')
    expect(shortened).toContain('tools/end-to-end/tests/identity.suite.ts')
    expect(shortened.length).toBeGreaterThan(20)
  })

  it.each(shortened)('run in full in `npm run test:chaos`: %s', (file) => {
    expect(testsThatImport(file).filter((test) => inFull.has(test))).not.toEqual([])
  })

  it('exist', () => {
    for (const pattern of [...CHAOS_TESTS, ...EXTENDED_TESTS])
      expect({ pattern, count: find(pattern).length }).not.toEqual({ pattern, count: 0 })
    expect([...inFull].filter((file) => !tests.includes(file))).toEqual([])
  })

  it('run in full every night, with the variables that their scripts set', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const nightly = read('.github/workflows/nightly.yml')
    const fuzz = read('tools/api-tests/tests/fuzz.test.ts')
    for (const script of ['test:chaos', 'test:fuzz', 'test:properties'])
      expect(nightly).toContain(`npm run ${script}"`)
    const variables = [...(scripts['test:fuzz'] ?? '').matchAll(/\b([A-Z_]+)=/g)].map(([, name]) => name)
    expect(variables).toEqual(['FUZZ_RUNS', 'FUZZ_REPORT'])
    for (const name of variables) expect(fuzz).toContain(`process.env.${name}`)
  })
})
