import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import { countInto, readCounts, usedCpuMs } from './run-counts.ts'
import { ownContainers, removeOwnContainers } from './test-run.ts'
import { readTimings, type TestTimings, TIMINGS_FILE } from './test-timings.ts'

/** Time in ms after the longest timeout of the running tests, without any result, after which a run counts as hung. */
const HUNG_AFTER_MS = 10 * 60_000
const SLOWEST_FILES = 20

type Span = { startMs: number; endMs: number }
type Options = {
  /** Files of the project `integration` that are not run because Docker does not answer. */
  leftOut?: readonly string[]
  /** Whether the tests of the project `browser` can run. Default: true. */
  hasChromium?: boolean
  /** The folder of `test-timings.json`. Default: the file is not written. */
  timingsFolder?: string
}

/**
 * Ends a run with the time that files and projects took, and with one line that a script can parse: `12 passed, 0 failed,
 * 1 skipped`. The lines before it say what was skipped without Docker and without Chromium. Ends a run that hangs as failed, and names the
 * running tests.
 */
export default class SummaryReporter implements Reporter {
  readonly #atWork = new Map<string, TestModule | TestCase>()
  readonly #spans = new Map<string, Span>()
  readonly #countsFile = path.join(tmpdir(), `waymark-test-counts-${randomBytes(6).toString('hex')}`)
  #vitest: Vitest | undefined
  #hung: NodeJS.Timeout | undefined
  readonly #onTerminate = () => this.#giveUp('The run was ended by SIGTERM.')
  readonly #leftOut: readonly string[]
  readonly #hasChromium: boolean
  readonly #timingsFolder: string | undefined

  constructor({ leftOut = [], hasChromium = true, timingsFolder }: Options = {}) {
    this.#leftOut = leftOut
    this.#hasChromium = hasChromium
    this.#timingsFolder = timingsFolder
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    // Before the first worker starts.
    countInto(this.#countsFile)
    ownContainers()
    // A run of CI that takes too long is ended by a signal, and has to say how far it came.
    process.once('SIGTERM', this.#onTerminate)
  }

  onTestModuleQueued(module: TestModule): void {
    this.#atWork.set(module.id, module)
    this.#watch()
  }

  onTestModuleStart(module: TestModule): void {
    this.#extend(module)
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
    this.#extend(module)
    this.#watch()
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    clearTimeout(this.#hung)
    process.off('SIGTERM', this.#onTerminate)
    // A file that failed to load has no tests that could fail.
    const broken = modules.filter((module) => module.errors().length > 0).length + unhandledErrors.length
    this.#printTimes(modules)
    const chaos = modules.filter(({ project }) => project.name === 'chaos')
    if (chaos.length > 0) print('Fault tests that ran:', chaos.map(resultOf))
    const runsIntegration = this.#vitest?.projects.some(({ name }) => name === 'integration') ?? false
    if (!this.#hasChromium) nameBrowserTests(modules)
    nameLeftOut(modules, runsIntegration ? this.#leftOut.length : 0)
    summarise(modules, broken)
    rmSync(this.#countsFile, { force: true })
  }

  #extend({ project }: TestModule): void {
    const now = Date.now()
    const startMs = this.#spans.get(project.name)?.startMs ?? now
    this.#spans.set(project.name, { startMs, endMs: now })
  }

  #printTimes(modules: readonly TestModule[]): void {
    if (modules.length === 0) return
    const times = modules
      .map((module) => ({ file: module.relativeModuleId, ms: durationOf(module) }))
      .toSorted((a, b) => b.ms - a.ms)
    print(
      'Slowest files:',
      times.slice(0, SLOWEST_FILES).map(({ file, ms }) => `${secondsOf(ms)}  ${file}`),
    )
    const projects = this.#projectTimes()
    print(
      'Projects (CPU time without that of containers):',
      Object.entries(projects).map(
        ([name, { wallMs, cpuMs, processes, containers }]) =>
          `${name}: ${secondsOf(wallMs)} wall, ${secondsOf(cpuMs)} CPU, ${processes} processes, ${containers} containers`,
      ),
    )
    if (this.#timingsFolder === undefined) return
    // A run of some files keeps the times of the others.
    const earlier = readTimings(this.#timingsFolder)
    const timings: TestTimings = {
      files: {
        ...earlier.files,
        ...Object.fromEntries(times.map(({ file, ms }) => [file, Math.round(ms)])),
      },
      projects: { ...earlier.projects, ...projects },
    }
    writeFileSync(path.join(this.#timingsFolder, TIMINGS_FILE), `${JSON.stringify(timings, undefined, 2)}\n`)
  }

  #projectTimes(): TestTimings['projects'] {
    const counts = readCounts(this.#countsFile)
    const none = { processes: 0, containers: 0, cpuMs: 0 }
    const projects: TestTimings['projects'] = {}
    for (const [name, { startMs, endMs }] of this.#spans)
      projects[name] = { wallMs: endMs - startMs, ...(counts.get(name) ?? none) }
    const shared = counts.get('') ?? none
    projects['shared by all'] = { wallMs: 0, ...shared, cpuMs: usedCpuMs() }
    return projects
  }

  #watch(): void {
    clearTimeout(this.#hung)
    const timeouts = [...this.#atWork.values()].map((one) =>
      one.type === 'test' ? (one.options.timeout ?? 0) : 0,
    )
    const giveUp = () => this.#giveUp('The run hangs, no test has ended for long.')
    this.#hung = setTimeout(giveUp, Math.max(0, ...timeouts) + HUNG_AFTER_MS)
  }

  #giveUp(why: string): void {
    const places = [...this.#atWork.values()].map((one) =>
      one.type === 'test' ? placeOf(one) : one.relativeModuleId,
    )
    const modules = this.#vitest?.state.getTestModules() ?? []
    this.#printTimes(modules.filter((module) => !this.#atWork.has(module.id)))
    process.stdout.write(`${why} At work: ${places.join(', ')}\n`)
    summarise(modules, this.#atWork.size)
    removeOwnContainers()
    process.exit(1)
  }
}

const placeOf = (test: TestCase): string => `${test.module.relativeModuleId} > ${test.fullName}`

const print = (title: string, lines: readonly string[]): void => {
  process.stdout.write(`${[title, ...lines.map((line) => `  ${line}`)].join('\n')}\n`)
}

const secondsOf = (ms: number): string => `${(ms / 1000).toFixed(1).padStart(7)} s`

/** The time of a file in ms: its imports, hooks and tests. */
const durationOf = (module: TestModule): number => {
  const { prepareDuration, environmentSetupDuration, setupDuration, collectDuration, duration } =
    module.diagnostic()
  return prepareDuration + environmentSetupDuration + setupDuration + collectDuration + duration
}

const resultOf = (module: TestModule): string => {
  const states = [...module.children.allTests()].map((test) => test.result().state)
  const count = (state: string) => states.filter((found) => found === state).length
  return `${module.relativeModuleId}: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`
}

const skippedIn = (modules: readonly TestModule[]): number =>
  modules
    .flatMap((module) => [...module.children.allTests()])
    .filter((test) => {
      const result = test.result()
      // A note gives the reason why a test skipped itself.
      return result.state === 'skipped' && result.note === undefined
    }).length

const nameBrowserTests = (modules: readonly TestModule[]): void => {
  const skipped = skippedIn(modules.filter(({ project }) => project.name === 'browser'))
  if (skipped === 0) return
  process.stdout.write(
    `Chromium is not installed: ${skipped} tests in a browser were left out. To run them, install Chromium ` +
      '(`apt-get install chromium`) and repeat `npm test`.\n',
  )
}

/** Without Docker, the tests on real servers are not run. This must not look like a full run. */
const nameLeftOut = (modules: readonly TestModule[], files: number): void => {
  const skipped = skippedIn(modules.filter(({ project }) => project.getProvidedContext().services === null))
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
