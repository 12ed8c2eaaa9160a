import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts'
import pTimeout from 'p-timeout'
import type { Pool } from 'pg'

/** How long ago a change may have been written and still be found by the next poll, in ms: commits come late. */
const OVERLAP_MS = 10_000
/** Without a successful poll for this long, cached values must be read again, in ms. */
const TRUSTED_MS = 3_000
/** How long a configuration is trusted at the most, in ms. */
const MAX_AGE_MS = 60_000
/** How long a request may wait for a poll, in ms. */
const REFRESH_TIMEOUT_MS = 1_000
/** Polls that requests ask for begin at least this far apart, in ms, however many ask. */
const REQUESTED_POLL_INTERVAL_MS = 100

/** Asks which subjects were changed within the last `$1` ms; each change has an id of its own. */
export type ChangesQuery = { name: string; text: string }

const CONFIG_CHANGES: ChangesQuery = {
  name: 'config-changes',
  text: `
    SELECT id::text AS change_id, project_id::text AS subject FROM core.config_changes
    WHERE changed_at > now() - $1 * interval '1 millisecond'`,
}

// The version of what a poll has seen is the database's time, in microseconds: all that was committed before it.
const withVersion = (text: string): string => `
  SELECT (extract(epoch FROM now()) * 1000000)::bigint::text AS version, changes.*
  FROM (VALUES (1)) AS one LEFT JOIN (${text}) AS changes ON true`

type Row = { version?: string } & (
  | { change_id: string; subject: string }
  | { change_id: null; subject: null }
)

export type ChangeNoticesDeps = {
  pool: Pool
  log: Log
  now: () => number
  query: ChangesQuery
  /** Anything is read again after this long, whatever the polls say, in ms. */
  maxAgeMs: number
}

/** Knows which projects changed lately. One per process; `poll` is to be called once a second. */
export const createConfigChanges = (deps: Pick<ChangeNoticesDeps, 'pool' | 'log' | 'now'>) =>
  createChangeNotices({ ...deps, query: CONFIG_CHANGES, maxAgeMs: MAX_AGE_MS })

/** Knows what changed lately, by polling the database; `poll` is to be called once a second. */
export const createChangeNotices = ({ pool, log, now, query, maxAgeMs }: ChangeNoticesDeps) => {
  const statement = { name: query.name, text: withVersion(query.text), values: [OVERLAP_MS] }
  const changedAt = new Map<string, number>()
  let known = new Set<string>()
  let version = 0
  let polledAt = Number.NEGATIVE_INFINITY
  // Polls failed until then, for longer than the overlap may reach back: what was read before may have changed.
  let gapEndedAt = 0
  let running: Promise<void> | undefined
  let following: Promise<void> | undefined
  let requested: Promise<void> | undefined
  let requestedAt = Number.NEGATIVE_INFINITY

  const readChanges = async (): Promise<void> => {
    const startedAt = now()
    const { rows } = await pool.query<Row>(statement)
    const seenAt = now()
    const changes = rows.flatMap(({ change_id, subject }) =>
      change_id === null ? [] : { change_id, subject },
    )
    for (const { change_id, subject } of changes) if (!known.has(change_id)) changedAt.set(subject, seenAt)
    known = new Set(changes.map(({ change_id }) => change_id))
    for (const [subject, at] of changedAt) if (seenAt - at > maxAgeMs) changedAt.delete(subject)
    if (startedAt - polledAt > TRUSTED_MS) gapEndedAt = seenAt
    if (polledAt === Number.NEGATIVE_INFINITY)
      log.debug({ query: query.name }, 'Configuration Configuration changes can be read')
    polledAt = startedAt
    version = Number(rows[0]?.version ?? 0)
  }

  /** One at a time; whoever asks during one gets the one after it, which sees what was committed by now. */
  const poll = (): Promise<void> => {
    if (running === undefined) {
      running = readChanges().finally(() => {
        running = undefined
      })
      return running
    }
    following ??= running
      .catch(() => {})
      .then(() => {
        following = undefined
        return poll()
      })
    return following
  }

  const pollSoon = (): Promise<void> => {
    requested ??= sleep(Math.max(0, requestedAt + REQUESTED_POLL_INTERVAL_MS - now())).then(() => {
      requested = undefined
      requestedAt = now()
      return poll()
    })
    return requested
  }

  return {
    /** Asks for changes. @throws when the database does not answer */
    poll,
    /**
     * Makes every change that was committed before this call count in this process, and returns a version to pass to
     * `catchUp` in other processes; undefined when the database does not answer in time.
     */
    refresh: (): Promise<string | undefined> =>
      pTimeout(poll(), { milliseconds: REFRESH_TIMEOUT_MS }).then(
        () => `${version}`,
        () => {
          // The change is not known to this process, so nothing that was read before it may be trusted.
          gapEndedAt = now()
          return undefined
        },
      ),
    /**
     * Waits until what `refresh` returned as `wanted` counts in this process as well, for at most a second, and not while
     * the database is down. Any other text counts as newer than everything.
     */
    catchUp: async (wanted: string): Promise<void> => {
      if (/^\d+$/.test(wanted) && Number(wanted) <= version) return
      await pTimeout(pollSoon(), { milliseconds: REFRESH_TIMEOUT_MS }).catch(() => {})
    },
    /** Whether the polls succeed, so that a change would be known. */
    isWatching: (): boolean => now() - polledAt < TRUSTED_MS,
    /** Whether what was read of a subject at `readAt` (ms) is known to be true still. */
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
