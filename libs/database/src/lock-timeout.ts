import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase } from 'pg'

/**
 * A statement that waits for a lock makes later writers wait, too; so it gives up after this many ms. It is longer than
 * `deadlock_timeout` (1 s), after which PostgreSQL cancels an autovacuum that holds the lock. A shorter one would have
 * the migration wait for the end of the autovacuum, which may take hours.
 */
const LOCK_TIMEOUT_MS = 2_000
/** Pause before the next attempt, in ms. */
const PAUSE_MS = 5_000

/** SQLSTATE of a lock timeout and of a deadlock. */
const LOCKED = new Set(['55P03', '40P01'])

export type LockRetry = {
  log: (message: string) => void
  /** Receives a message for each wait. */
  warn: (message: string) => void
  /** Pause before the next attempt, in ms. */
  pauseMs?: number | undefined
  /** Ends the pause. */
  signal?: AbortSignal | undefined
}

/**
 * Repeats `run` until it gets its locks, each for at most two seconds, so that no writer waits longer behind it.
 * `what` is the subject of the log line. `run` must leave no transaction open when it fails.
 */
export const withLockTimeout = async <T>(
  client: ClientBase,
  what: string,
  run: () => Promise<T>,
  retry: LockRetry,
): Promise<T> => {
  await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`)
  try {
    return await retryLocked(what, run, retry)
  } finally {
    // A broken connection keeps its first error.
    await client.query('SET lock_timeout = 0').catch(() => {})
  }
}

/** Repeats `run` as long as it fails because of a lock. @throws what else it throws; AbortError when `signal` aborts */
export const retryLocked = async <T>(
  what: string,
  run: () => Promise<T>,
  { warn, pauseMs = PAUSE_MS, signal }: LockRetry,
): Promise<T> => {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!LOCKED.has(String((error as { code?: unknown } | null)?.code))) throw error
      warn(`${what} did not get a lock that another transaction holds; trying again in ${pauseMs} ms`)
      await sleep(pauseMs, undefined, { signal })
    }
  }
}
