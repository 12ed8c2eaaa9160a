import { expect, it, vi } from 'vitest'
import type { TestModule, Vitest } from 'vitest/node'
import SummaryReporter from './summary-reporter.ts'

type Result = { state: 'passed' | 'failed' | 'skipped'; note?: string }

/** A test file of a project with `services`, and the results of its tests. */
const aModule = (services: object | null | undefined, results: Result[]) =>
  ({
    project: { getProvidedContext: () => ({ services }) },
    errors: () => [],
    children: { allTests: () => results.map((result) => ({ result: () => result })) },
  }) as unknown as TestModule

type Run = { leftOut?: string[]; project?: string }

const linesOf = (
  modules: TestModule[],
  errors: unknown[] = [],
  { leftOut = [], project = 'integration' }: Run = {},
): string[] => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  try {
    const reporter = new SummaryReporter({ leftOut })
    reporter.onInit({ projects: [{ name: project }] } as unknown as Vitest)
    reporter.onTestRunEnd(modules, errors)
    return write.mock.calls.map(([text]) => `${text}`)
  } finally {
    write.mockRestore()
  }
}

it('prints the counts at the end', () => {
  const modules = [
    aModule(undefined, [{ state: 'passed' }, { state: 'failed' }]),
    aModule({ postgresUrl: 'postgres://localhost' }, [{ state: 'skipped' }]),
  ]
  expect(linesOf(modules, [new Error('unhandled')])).toEqual(['1 passed, 2 failed, 1 skipped\n'])
})

it('prints before them what was skipped without Docker, and how to run it', () => {
  const skipped: Result = { state: 'skipped' }
  const modules = [
    aModule(null, [skipped, skipped, { state: 'passed' }]),
    aModule(null, [{ state: 'skipped', note: 'needs root' }]),
    aModule(null, [skipped]),
  ]
  const [leftOut, counts] = linesOf(modules)
  expect(leftOut).toMatch(
    /^Docker does not answer: 0 test files and 3 tests of other files were left out, .*`npm test`\.\n$/,
  )
  expect(counts).toBe('1 passed, 0 failed, 4 skipped\n')
})

it('counts skipped files of the project', () => {
  const leftOut = ['apps/a/tests/one.test.ts', 'libs/b/tests/one.test.ts']
  expect(linesOf([], [], { leftOut })[0]).toContain(': 2 test files and 0 tests of other files were left out')
  expect(linesOf([], [], { leftOut, project: 'unit' })).toEqual(['0 passed, 0 failed, 0 skipped\n'])
})
