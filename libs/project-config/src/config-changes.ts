import type { Log } from '@waymark/contracts'
import type { Pool } from 'pg'

/** How long ago a change may have been written and still be found by the next poll, in ms: commits come late. */
const OVERLAP_MS = 10_000
/** Without a successful poll for this long, what is remembered must be asked for again, in ms. */
const TRUSTED_MS = 3_000
/** How long a configuration is trusted at the most, in ms. */
const MAX_AGE_MS = 60_000

/** Asks which subjects were changed within the last `$1` ms; each change has an id of its own. */
export type ChangesQuery = { name: string; text: string }

const CONFIG_CHANGES: ChangesQuery = {
  name: 'config-changes',
  text: `
    SELECT id::text AS change_id, project_id::text AS subject FROM core.config_changes
    WHERE changed_at > now() - $1 * interval '1 millisecond'`,
}

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
  const changedAt = new Map<string, number>()
  let known = new Set<string>()
  let polledAt = Number.NEGATIVE_INFINITY
  // Polls failed until then, for longer than the overlap may reach back: what was read before may have changed.
  let gapEndedAt = 0

  return {
    /** Asks for changes. @throws when the database does not answer */
    poll: async (): Promise<void> => {
      const startedAt = now()
      const { rows } = await pool.query<{ change_id: string; subject: string }>({
        ...query,
        values: [OVERLAP_MS],
      })
      const seenAt = now()
      for (const { change_id, subject } of rows) if (!known.has(change_id)) changedAt.set(subject, seenAt)
      known = new Set(rows.map(({ change_id }) => change_id))
      for (const [subject, at] of changedAt) if (seenAt - at > maxAgeMs) changedAt.delete(subject)
      if (startedAt - polledAt > TRUSTED_MS) gapEndedAt = seenAt
      if (polledAt === Number.NEGATIVE_INFINITY) log.debug({ query: query.name }, 'changes can be read')
      polledAt = startedAt
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
