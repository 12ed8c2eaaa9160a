import { bulkColumns } from '@waymark/database'

/** A pool, as far as this goes. */
type Queries = { query(statement: { name: string; text: string; values: unknown[] }): Promise<unknown> }
type Use = { id: string; at: number }

const columns = bulkColumns<Use>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'used_at', type: 'timestamptz', of: ({ at }) => new Date(at).toISOString() },
])

// In the order of ids, so that processes which write the same keys wait for each other instead of deadlocking.
const UPDATE = `
  WITH used AS (
    SELECT k.id, given.used_at FROM ${columns.unnest} AS given (${columns.names})
    JOIN core.api_keys k USING (id) WHERE k.last_used_at IS NULL OR k.last_used_at < given.used_at
    ORDER BY k.id FOR UPDATE OF k
  )
  UPDATE core.api_keys k SET last_used_at = used.used_at FROM used WHERE k.id = used.id`

/** Remembers in memory when keys were used last, until `flush` writes it in one statement. */
export const createKeyUsage = (pool: Queries) => {
  let used = new Map<string, number>()
  return {
    /** Costs next to nothing: for every request. `at` is in ms. */
    note: (id: string, at: number): void => {
      used.set(id, at)
    },
    /** Writes what was noted since the last time. @throws when the database is down; then it is kept for the next time */
    flush: async (): Promise<void> => {
      if (used.size === 0) return
      const flushing = used
      used = new Map()
      try {
        const uses = [...flushing].map(([id, at]) => ({ id, at }))
        await pool.query({ name: 'key-usage', text: UPDATE, values: columns.values(uses) })
      } catch (error) {
        used = new Map([...flushing, ...used])
        throw error
      }
    },
  }
}
