import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from './processes.ts'
import type { Server, ServerExit } from './server.ts'

/** A server that exits this soon after its start counts as a failed start, in ms. */
const STABLE_MS = 60_000
/** The delay before the second restart in a row, in ms. It doubles each time. */
const FIRST_PAUSE_MS = 500
/** Restarts in a row. */
const MAX_FAILURES = 6

/** A server that is restarted when it exits. */
type Supervised = {
  /** Resolves after `stop`, or when the server could not be restarted. */
  exited: Promise<ServerExit>
  /** Ends the server. Idempotent. */
  stop(): Promise<void>
}

/**
 * Restarts a server whenever it exits, at once and then with growing delays. Stops after six starts in a row that failed
 * or whose server exited within a minute. `restart` must use the same port.
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
      // `stop` has ended the one before.
      if (stopping.signal.aborted) await server.stop()
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
