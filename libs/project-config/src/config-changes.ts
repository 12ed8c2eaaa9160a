import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'
import pTimeout from 'p-timeout'
import type { Pool } from 'pg'
import { type ChangesQuery, CONFIG_CHANGES, readRecentChanges } from './config-change-queries.ts'
import { oneAtATime } from './one-at-a-time.ts'

/** How far back each poll looks, in ms, because a transaction may commit late. */
const OVERLAP_MS = 10_000
/** After this time without a successful poll, cached values must be read again, in ms. */
const TRUSTED_MS = 3_000
/** Maximum age of a cached configuration, in ms. */
const MAX_AGE_MS = 60_000
/** How long a request may wait for a poll, in ms. */
const REFRESH_TIMEOUT_MS = 1_000
/** Minimum interval of polls that requests cause, in ms. */
const REQUESTED_POLL_INTERVAL_MS = 100

type ChangeNoticesDeps = {
  pool: Pool
  log: Log
  now: () => number
  query: ChangesQuery
  /** Maximum age of a cached value without a change, in ms. */
  maxAgeMs: number
}

/** Recent changes of projects. Create one per process, and call `poll` once a second. */
export const createConfigChanges = (deps: Pick<ChangeNoticesDeps, 'pool' | 'log' | 'now'>) =>
  createChangeNotices({ ...deps, query: CONFIG_CHANGES, maxAgeMs: MAX_AGE_MS })

/** Recent changes of subjects, by polling the database. Call `poll` once a second. */
export const createChangeNotices = ({ pool, log, now, query, maxAgeMs }: ChangeNoticesDeps) => {
  const changedAt = new Map<string, number>()
  let known = new Set<string>()
  let version = 0
  let polledAt = Number.NEGATIVE_INFINITY
  // The end of the last gap between polls. Changes in it may be unknown, so older values must be read again.
  let gapEndedAt = 0
  let requested: Promise<void> | undefined
  let requestedAt = Number.NEGATIVE_INFINITY

  const readChanges = async (): Promise<void> => {
    const startedAt = now()
    const read = await readRecentChanges(pool, query, OVERLAP_MS)
    const seenAt = now()
    for (const { id, subject } of read.changes) if (!known.has(id)) changedAt.set(subject, seenAt)
    known = new Set(read.changes.map(({ id }) => id))
    for (const [subject, at] of changedAt) if (seenAt - at > maxAgeMs) changedAt.delete(subject)
    if (startedAt - polledAt > TRUSTED_MS) gapEndedAt = seenAt
    if (polledAt === Number.NEGATIVE_INFINITY)
      log.debug({ query: query.name }, 'First poll for changes succeeded')
    polledAt = startedAt
    version = read.version
  }

  const poll = oneAtATime(readChanges)

  const pollSoon = (): Promise<void> => {
    requested ??= sleep(Math.max(0, requestedAt + REQUESTED_POLL_INTERVAL_MS - now())).then(() => {
      requested = undefined
      requestedAt = now()
      return poll()
    })
    return requested
  }

  return {
    /** Reads changes. @throws when the database does not answer */
    poll,
    /**
     * Applies every change that was committed before this call to this process. Returns a version to pass to `catchUp` in
     * other processes, or undefined when the database does not answer within a second.
     */
    refresh: (): Promise<string | undefined> =>
      pTimeout(poll(), { milliseconds: REFRESH_TIMEOUT_MS }).then(
        () => `${version}`,
        () => {
          // The change may be unknown to this process, so everything must be read again.
          gapEndedAt = now()
          return undefined
        },
      ),
    /**
     * Waits until this process has applied the version `wanted` that `refresh` returned, for at most a second, and not
     * while the database is unavailable. Text that is not a version counts as the newest one.
     */
    catchUp: async (wanted: string): Promise<void> => {
      if (/^\d+$/.test(wanted) && Number(wanted) <= version) return
      await pTimeout(pollSoon(), { milliseconds: REFRESH_TIMEOUT_MS }).catch(() => {})
    },
    /** Whether polls succeed. */
    isWatching: (): boolean => now() - polledAt < TRUSTED_MS,
    /** Whether a value that was read at `readAt` (ms) is known to be up to date. */
    isCurrent: (subject: string, readAt: number): boolean => {
      const time = now()
      return (
        time - polledAt < TRUSTED_MS &&
        time - readAt < maxAgeMs &&
        readAt > Math.max(gapEndedAt, changedAt.get(subject) ?? 0)
      )
    },
  }
}

export type ChangeNotices = ReturnType<typeof createChangeNotices>
