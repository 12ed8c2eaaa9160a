import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from './processes.ts'
import type { Server, ServerExit } from './server.ts'

/** A server that ends this soon after its start counts as one that did not start, in ms. */
const STABLE_MS = 60_000
/** The pause before the second start in a row, in ms; it doubles from one to the next. */
const FIRST_PAUSE_MS = 500
/** So often in a row it is started again. */
const MAX_FAILURES = 6

/** A server that is started again when it ends by itself. */
export type Supervised = {
  /** Resolves when the server has ended for good: by `stop`, or when it could not be started again. */
  exited: Promise<ServerExit>
  /** Ends the server. Idempotent. */
  stop(): Promise<void>
}

/**
 * Starts the server again whenever it ends by itself, at once and then after growing pauses. Gives up when six starts
 * in a row have failed, or their servers have ended within a minute. `restart` has to use the same port.
 */
export const superviseServer = (
  first: Server,
  restart: () => Promise<Server>,
  log: Log,
  pause: (ms: number, signal: AbortSignal) => Promise<unknown> = (ms, signal) =>
    sleep(ms, undefined, { signal }),
): Supervised => {
  const stopping = new AbortController()
  let server = first

  const startAgain = async (failures: number): Promise<boolean> => {
    const pauseMs = failures === 1 ? 0 : FIRST_PAUSE_MS * 2 ** (failures - 2)
    await pause(pauseMs, stopping.signal).catch(() => {})
    if (stopping.signal.aborted) return false
    try {
      server = await restart()
      return true
    } catch (error) {
      log(`PostgreSQL could not be started again: ${error instanceof Error ? error.message : error}`)
      return false
    }
  }

  const supervise = async (): Promise<ServerExit> => {
    for (let failures = 0; ; ) {
      const startedAt = performance.now()
      const exit = await server.exited
      if (stopping.signal.aborted) return exit
      log(`PostgreSQL ended by itself (${exit.signal ?? `code ${exit.code}`}); starting it again`)
      if (performance.now() - startedAt > STABLE_MS) failures = 0
      do {
        failures++
        if (failures > MAX_FAILURES || stopping.signal.aborted) return exit
      } while (!(await startAgain(failures)))
    }
  }

  const exited = supervise()
  const shutDown = async (): Promise<void> => {
    stopping.abort()
    await server.stop()
    await exited
    // One that was being started meanwhile.
    await server.stop()
  }
  let stopped: Promise<void> | undefined
  return {
    exited,
    stop: () => {
      stopped ??= shutDown()
      return stopped
    },
  }
}
