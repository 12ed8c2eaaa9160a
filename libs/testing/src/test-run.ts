import { execFileSync } from 'node:child_process'
import { hostname } from 'node:os'

/** The process id of the test run to which a process belongs; the reporter sets it. */
const RUN_VARIABLE = 'TEST_RUN_PID'
/** The label of a container that says which test run started it. */
export const RUN_LABEL = 'waymark.test-run'

/** Makes containers that this process and those that it starts create belong to this process. */
export const ownContainers = (): void => {
  process.env[RUN_VARIABLE] = `${process.pid}`
}

/** The value of the label of containers that this process creates: its machine and the process that owns them. */
export const runLabel = (): string => `${hostname()}:${process.env[RUN_VARIABLE] ?? process.pid}`

/**
 * Removes the containers, with their anonymous volumes, of runs on this machine that have ended without it, such as by a
 * signal. Other machines may use the same Docker.
 */
export const removeAbandonedContainers = (): void => {
  try {
    const format = `{{.ID}} {{.Label "${RUN_LABEL}"}}`
    const owned = docker('ps', '--all', '--filter', `label=${RUN_LABEL}`, '--format', format).split('\n')
    const abandoned = owned.map((line) => line.split(' ')).filter(([, label = '']) => isAbandoned(label))
    remove(abandoned.map(([id = '']) => id))
  } catch {
    // Another run may be removing them too. What is left is removed by the next one.
  }
}

/**
 * Removes the containers of this run, because it ends before the tests that would stop them. Does nothing if Docker does not
 * answer.
 */
export const removeOwnContainers = (): void => {
  try {
    remove(docker('ps', '--all', '--quiet', '--filter', `label=${RUN_LABEL}=${runLabel()}`).split('\n'))
  } catch {
    // The next run removes them.
  }
}

const isAbandoned = (label: string): boolean => {
  const [, host, pid] = /^(.+):(\d+)$/.exec(label) ?? []
  if (host !== hostname()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

const docker = (...words: string[]): string =>
  execFileSync('docker', words, { encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] })

const remove = (ids: readonly string[]): void => {
  const named = ids.filter((id) => id !== '')
  if (named.length > 0) docker('rm', '--force', '--volumes', ...named)
}
