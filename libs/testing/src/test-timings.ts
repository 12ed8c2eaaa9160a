import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { RunCounts } from './run-counts.ts'

/** The name of the file in which test runs note what took how long. It is not committed. */
export const TIMINGS_FILE = 'test-timings.json'

/** Times of test files in ms, by their path in the repository, and what each project of Vitest used. */
export type TestTimings = {
  files: Record<string, number>
  projects: Record<string, RunCounts & { wallMs: number }>
}

/** The times of earlier runs, or none. */
export const readTimings = (folder: string): TestTimings => {
  const file = path.join(folder, TIMINGS_FILE)
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as TestTimings)
    : { files: {}, projects: {} }
}
