import type { Log } from '@waymark/contracts'
import type { ClientBase, Pool } from 'pg'

/** How long ago a change may have been written and still be found by the next poll, in ms: commits come late. */
const OVERLAP_MS = 10_000
/** Without a successful poll for this long, what is remembered must be asked for again, in ms. */
const TRUSTED_MS = 3_000
/** Anything is read again after this long, whatever the polls say, in ms. */
const MAX_AGE_MS = 60_000

const RECENT = `
  SELECT id::text AS change_id, project_id FROM core.config_changes
  WHERE changed_at > now() - $1 * interval '1 millisecond'`

/** Notes in the transaction of a change to a project's configuration or keys that every process must learn of it. */
export const noteConfigChange = async (
  client: Pick<ClientBase, 'query'>,
  projectId: string,
): Promise<void> => {
  await client.query('INSERT INTO core.config_changes (project_id) VALUES ($1)', [projectId])
}

/** Knows which projects changed lately. One per process; `poll` is to be called once a second. */
export const createConfigChanges = ({ pool, log, now }: { pool: Pool; log: Log; now: () => number }) => {
  const changedAt = new Map<string, number>()
  let known = new Set<string>()
  let polledAt = Number.NEGATIVE_INFINITY
  // Polls failed until then, for longer than the overlap may reach back: what was read before may have changed.
  let gapEndedAt = 0

  return {
    /** Asks for changes. @throws when the database does not answer */
    poll: async (): Promise<void> => {
      const startedAt = now()
      const { rows } = await pool.query<{ change_id: string; project_id: string }>({
        name: 'config-changes',
        text: RECENT,
        values: [OVERLAP_MS],
      })
      const seenAt = now()
      for (const { change_id, project_id } of rows)
        if (!known.has(change_id)) changedAt.set(project_id, seenAt)
      known = new Set(rows.map(({ change_id }) => change_id))
      for (const [projectId, at] of changedAt) if (seenAt - at > MAX_AGE_MS) changedAt.delete(projectId)
      if (startedAt - polledAt > TRUSTED_MS) gapEndedAt = seenAt
      if (polledAt === Number.NEGATIVE_INFINITY) log.debug({}, 'configuration changes can be read')
      polledAt = startedAt
    },
    /** Whether what was read of a project at `readAt` (ms) is known to be true still. */
    isCurrent: (projectId: string, readAt: number): boolean =>
      now() - polledAt < TRUSTED_MS &&
      now() - readAt < MAX_AGE_MS &&
      readAt > Math.max(gapEndedAt, changedAt.get(projectId) ?? 0),
  }
}

export type ConfigChanges = ReturnType<typeof createConfigChanges>
