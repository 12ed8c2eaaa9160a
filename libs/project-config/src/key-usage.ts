import { bulkColumns } from '@waymark/database'

type Queries = { query(statement: { name: string; text: string; values: unknown[] }): Promise<unknown> }
type Use = { id: string; at: number }

const columns = bulkColumns<Use>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'used_at', type: 'timestamptz', of: ({ at }) => new Date(at).toISOString() },
])

// Ordered by id, so that processes that update the same keys do not deadlock.
const UPDATE = `
  WITH used AS (
    SELECT k.id, given.used_at FROM ${columns.unnest} AS given (${columns.names})
    JOIN core.api_keys k USING (id) WHERE k.last_used_at IS NULL OR k.last_used_at < given.used_at
    ORDER BY k.id FOR UPDATE OF k
  )
  UPDATE core.api_keys k SET last_used_at = used.used_at FROM used WHERE k.id = used.id`

/** Records the last use of keys in memory until `flush` writes them in one statement. */
export const createKeyUsage = (pool: Queries) => {
  let used = new Map<string, number>()
  return {
    /** Records a use. `at` is in ms since the epoch. */
    note: (id: string, at: number): void => {
      used.set(id, at)
    },
    /** Writes what was recorded since the last flush. @throws when the database fails; the next flush writes it then */
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
