import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The core of the process that is measured, and that of the load. */
export const SERVER_CORE = 0
const LOAD_CORE = 1
/** So many cores, and Kafka, PostgreSQL and Redis get the others for themselves. */
const CORES_FOR_ALL = 4

/** Moves this process, which makes the load, to a core of its own. */
export const pinLoad = (): void => {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', `${LOAD_CORE}`, `${process.pid}`], {
    stdio: 'ignore',
  })
}

/** Moves containers away from the cores of the measured process and of the load, if there are more. */
export const pinContainers = (ids: readonly string[]): void => {
  const cores = availableCores()
  if (cores < CORES_FOR_ALL) return
  execFileSync('docker', ['update', '--cpuset-cpus', `${LOAD_CORE + 1}-${cores - 1}`, ...ids], {
    stdio: 'ignore',
  })
}

// Counted before this process is pinned: afterwards it would see one.
const cores = availableParallelism()
/** Cores of the machine. */
export const availableCores = (): number => cores
