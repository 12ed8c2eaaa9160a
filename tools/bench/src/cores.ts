import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The cores of the measured process and of the load generator. */
export const SERVER_CORE = 0
const LOAD_CORE = 1
/** From this number of cores, Kafka, PostgreSQL and Redis get the remaining ones. */
const CORES_FOR_ALL = 4

/** Moves this process, the load generator, to its own core. */
export const pinLoad = (): void => {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', `${LOAD_CORE}`, `${process.pid}`], {
    stdio: 'ignore',
  })
}

/** Moves containers away from the cores of the measured process and the load generator, if there are more. */
export const pinContainers = (ids: readonly string[]): void => {
  const cores = availableCores()
  if (cores < CORES_FOR_ALL) return
  execFileSync('docker', ['update', '--cpuset-cpus', `${LOAD_CORE + 1}-${cores - 1}`, ...ids], {
    stdio: 'ignore',
  })
}

// Counted before this process is pinned to one core.
const cores = availableParallelism()
/** Cores of the machine. */
export const availableCores = (): number => cores
