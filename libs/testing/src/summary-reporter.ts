import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'

/** Time in ms after the longest timeout of the running tests, without any result, after which a run counts as hung. */
const HUNG_AFTER_MS = 10 * 60_000

/**
 * Ends a run with one line that a script can parse: `12 passed, 0 failed, 1 skipped`. The line before it lists what was
 * skipped without Docker. Ends a run that hangs as failed, and names the running tests.
 */
export default class SummaryReporter implements Reporter {
  readonly #atWork = new Map<string, TestModule | TestCase>()
  #vitest: Vitest | undefined
  #hung: NodeJS.Timeout | undefined
  readonly #leftOut: readonly string[]

  /** @param options `leftOut`: files of the project `integration` that are not run because Docker does not answer */
  constructor({ leftOut = [] }: { leftOut?: readonly string[] } = {}) {
    this.#leftOut = leftOut
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestModuleQueued(module: TestModule): void {
    this.#atWork.set(module.id, module)
    this.#watch()
  }

  onTestCaseReady(test: TestCase): void {
    this.#atWork.set(test.module.id, test)
    this.#watch()
  }

  onTestCaseResult(): void {
    this.#watch()
  }

  onTestModuleEnd(module: TestModule): void {
    this.#atWork.delete(module.id)
    this.#watch()
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    clearTimeout(this.#hung)
    // A file that failed to load has no tests that could fail.
    const broken = modules.filter((module) => module.errors().length > 0).length + unhandledErrors.length
    const runsIntegration = this.#vitest?.projects.some(({ name }) => name === 'integration') ?? false
    nameLeftOut(modules, runsIntegration ? this.#leftOut.length : 0)
    summarise(modules, broken)
  }

  #watch(): void {
    clearTimeout(this.#hung)
    const timeouts = [...this.#atWork.values()].map((one) =>
      one.type === 'test' ? (one.options.timeout ?? 0) : 0,
    )
    this.#hung = setTimeout(() => this.#giveUp(), Math.max(0, ...timeouts) + HUNG_AFTER_MS)
  }

  #giveUp(): void {
    const places = [...this.#atWork.values()].map((one) =>
      one.type === 'test' ? placeOf(one) : one.relativeModuleId,
    )
    process.stdout.write(`The run hangs, no test has ended for long. At work: ${places.join(', ')}\n`)
    summarise(this.#vitest?.state.getTestModules() ?? [], this.#atWork.size)
    process.exit(1)
  }
}

const placeOf = (test: TestCase): string => `${test.module.relativeModuleId} > ${test.fullName}`

/** Without Docker, the tests on real servers are not run. This must not look like a full run. */
const nameLeftOut = (modules: readonly TestModule[], files: number): void => {
  const skipped = modules
    .filter(({ project }) => project.getProvidedContext().services === null)
    .flatMap((module) => [...module.children.allTests()])
    .filter((test) => {
      const result = test.result()
      // A note gives the reason why a test skipped itself.
      return result.state === 'skipped' && result.note === undefined
    }).length
  if (files + skipped === 0) return
  process.stdout.write(
    `Docker does not answer: ${files} test files and ${skipped} tests of other files were left out, those on Kafka, ` +
      'PostgreSQL, Redis and ClickHouse. To run them, start Docker (`docker info` must succeed) and repeat `npm test`.\n',
  )
}

const summarise = (modules: readonly TestModule[], broken: number): void => {
  const states = modules.flatMap((module) =>
    [...module.children.allTests()].map((test) => test.result().state),
  )
  const count = (state: string) => states.filter((found) => found === state).length
  process.stdout.write(
    `${count('passed')} passed, ${count('failed') + broken} failed, ${count('skipped')} skipped\n`,
  )
}
