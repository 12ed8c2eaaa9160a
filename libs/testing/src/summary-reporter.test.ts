import { expect, it, vi } from 'vitest'
import type { TestModule, Vitest } from 'vitest/node'
import { count } from './run-counts.ts'
import SummaryReporter from './summary-reporter.ts'

type Result = { state: 'passed' | 'failed' | 'skipped'; note?: string }

/** A test file of a project with `services`, and the results of its tests. */
const aModule = (
  services: object | null | undefined,
  results: Result[],
  { file = 'libs/a/tests/a.test.ts', project = 'integration', seconds = 1 } = {},
) =>
  ({
    project: { name: project, getProvidedContext: () => ({ services }) },
    relativeModuleId: file,
    diagnostic: () => ({
      prepareDuration: 0,
      environmentSetupDuration: 0,
      setupDuration: 0,
      collectDuration: 100,
      duration: seconds * 1000 - 100,
    }),
    errors: () => [],
    children: { allTests: () => results.map((result) => ({ result: () => result })) },
  }) as unknown as TestModule

type Run = { leftOut?: string[]; hasChromium?: boolean; project?: string }

/** What a run prints: everything, its last line and the one before it. */
const outputOf = (
  modules: TestModule[],
  errors: unknown[] = [],
  { leftOut = [], hasChromium = true, project = 'integration' }: Run = {},
): { all: string; beforeLast: string | undefined; last: string | undefined } => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  // The reporter of this run counts in another file, and owns its containers.
  vi.stubEnv('TEST_COUNTS_FILE', undefined)
  vi.stubEnv('TEST_RUN_PID', undefined)
  vi.stubEnv('TEST_PROJECT', project)
  try {
    const reporter = new SummaryReporter({ leftOut, hasChromium })
    reporter.onInit({ projects: [{ name: project }] } as unknown as Vitest)
    for (const module of modules) {
      reporter.onTestModuleStart(module)
      reporter.onTestModuleEnd(module)
    }
    count('processes', 2)
    reporter.onTestRunEnd(modules, errors)
    const written = write.mock.calls.map(([text]) => `${text}`)
    return { all: written.join(''), beforeLast: written.at(-2), last: written.at(-1) }
  } finally {
    write.mockRestore()
    vi.unstubAllEnvs()
  }
}

it('prints the counts at the end', () => {
  const modules = [
    aModule(undefined, [{ state: 'passed' }, { state: 'failed' }]),
    aModule({ postgresUrl: 'postgres://localhost' }, [{ state: 'skipped' }]),
  ]
  expect(outputOf(modules, [new Error('unhandled')])).toMatchObject({
    last: '1 passed, 2 failed, 1 skipped\n',
  })
})

it('prints before them what was skipped without Docker, and how to run it', () => {
  const skipped: Result = { state: 'skipped' }
  const modules = [
    aModule(null, [skipped, skipped, { state: 'passed' }]),
    aModule(null, [{ state: 'skipped', note: 'needs root' }]),
    aModule(null, [skipped]),
  ]
  const { beforeLast, last } = outputOf(modules)
  expect(beforeLast).toMatch(
    /^Docker does not answer: 0 test files and 3 tests of other files were left out, .*`npm test`\.\n$/,
  )
  expect(last).toBe('1 passed, 0 failed, 4 skipped\n')
})

it('prints what was skipped without Chromium, and how to run it', () => {
  const inBrowser = aModule(undefined, [{ state: 'skipped' }, { state: 'skipped' }], { project: 'browser' })
  const modules = [inBrowser, aModule({}, [{ state: 'skipped' }, { state: 'passed' }])]
  const { beforeLast, last } = outputOf(modules, [], { hasChromium: false })
  expect(beforeLast).toMatch(
    /^Chromium is not installed: 2 tests in a browser were left out\. .*`npm test`\.\n$/,
  )
  expect(last).toBe('1 passed, 0 failed, 3 skipped\n')
  expect(outputOf(modules).all).not.toContain('Chromium')
})

it('counts skipped files of the project', () => {
  const leftOut = ['apps/a/tests/one.test.ts', 'libs/b/tests/one.test.ts']
  expect(outputOf([], [], { leftOut }).beforeLast).toContain(
    ': 2 test files and 0 tests of other files were left out',
  )
  expect(outputOf([], [], { leftOut, project: 'unit' }).all).toBe('0 passed, 0 failed, 0 skipped\n')
})

it('prints the slowest files, longest first, and what each project used', () => {
  const modules = Array.from({ length: 21 }, (_, n) =>
    aModule({}, [{ state: 'passed' }], { file: `libs/a/tests/${n}.test.ts`, seconds: n + 1 }),
  )
  const { all } = outputOf(modules)
  expect(all).toContain('Slowest files:\n     21.0 s  libs/a/tests/20.test.ts\n     20.0 s  libs/a/tests/19')
  expect(all).not.toContain('libs/a/tests/0.test.ts')
  expect(all).toMatch(/\n {2}integration: +\d+\.\d s wall, +0\.0 s CPU, 2 processes, 0 containers\n/)
})

it('says which fault tests ran', () => {
  const file = 'tools/chaos/tests/outages.test.ts'
  const { all } = outputOf([
    aModule({}, [{ state: 'passed' }, { state: 'skipped' }], { file, project: 'chaos' }),
  ])
  expect(all).toContain(`Fault tests that ran:\n  ${file}: 1 passed, 0 failed, 1 skipped\n`)
})
