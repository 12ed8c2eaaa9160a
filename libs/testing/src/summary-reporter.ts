import type { Reporter, TestModule } from 'vitest/node'

/** Ends a run with one plain line that a script can read: `12 passed, 0 failed, 1 skipped`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const states = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => test.result().state),
    )
    const count = (state: string) => states.filter((found) => found === state).length
    // A file that could not even be loaded has no tests that could fail.
    const broken = modules.filter((module) => module.errors().length > 0).length + unhandledErrors.length
    process.stdout.write(
      `${count('passed')} passed, ${count('failed') + broken} failed, ${count('skipped')} skipped\n`,
    )
  }
}
