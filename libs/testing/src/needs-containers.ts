import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Whether containers can be started. */
export const dockerAnswers = (): boolean => {
  try {
    execFileSync('docker', ['info'], { timeout: 60_000, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const SUITE = /^(?:describe|it|test)\b.*/gm
const WITH_SERVICES = 'describe.skipIf(!services)'

/** Whether all tests of a file with this text are skipped without containers. */
export const needsContainers = (source: string): boolean => {
  const suites = source.match(SUITE) ?? []
  return suites.length > 0 && suites.every((suite) => suite.startsWith(WITH_SERVICES))
}

/**
 * The integration tests that would be skipped as a whole without containers, relative to `root`. They are recognized by
 * their text, because importing all of them takes a minute.
 */
export const filesThatNeedContainers = (root: string): string[] =>
  globSync('{apps,libs,tools}/*/tests/**/*.test.ts', { cwd: root, exclude: ['**/node_modules'] })
    .filter((file) => needsContainers(readFileSync(path.join(root, file), 'utf8')))
    .sort()
