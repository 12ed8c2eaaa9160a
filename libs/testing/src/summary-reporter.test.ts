import { expect, it, vi } from 'vitest'
import type { TestModule } from 'vitest/node'
import SummaryReporter from './summary-reporter.ts'

type Result = { state: 'passed' | 'failed' | 'skipped'; note?: string }

/** A test file of a project with `services`, and the results of its tests. */
const aModule = (services: object | null | undefined, results: Result[]) =>
  ({
    project: { getProvidedContext: () => ({ services }) },
    errors: () => [],
    children: { allTests: () => results.map((result) => ({ result: () => result })) },
  }) as unknown as TestModule

const linesOf = (modules: TestModule[], errors: unknown[] = []): string[] => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  try {
    new SummaryReporter().onTestRunEnd(modules, errors)
    return write.mock.calls.map(([text]) => `${text}`)
  } finally {
    write.mockRestore()
  }
}

it('ends with the counts', () => {
  const modules = [
    aModule(undefined, [{ state: 'passed' }, { state: 'failed' }]),
    aModule({ postgresUrl: 'postgres://localhost' }, [{ state: 'skipped' }]),
  ]
  expect(linesOf(modules, [new Error('unhandled')])).toEqual(['1 passed, 2 failed, 1 skipped\n'])
})

it('says before them what was left out without Docker, and how to run it', () => {
  const skipped: Result = { state: 'skipped' }
  const modules = [
    aModule(null, [skipped, skipped, { state: 'passed' }]),
    aModule(null, [{ state: 'skipped', note: 'needs root' }]),
    aModule(null, [skipped]),
  ]
  const [leftOut, counts] = linesOf(modules)
  expect(leftOut).toMatch(/^Docker does not answer: 3 tests in 2 files were left out, .*`npm test`\.\n$/)
  expect(counts).toBe('1 passed, 0 failed, 4 skipped\n')
})
