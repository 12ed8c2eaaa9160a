import { bulkColumns } from '@waymark/database'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'

/** A code as it is compared, and as it is shown where that does not follow from its pool. */
export type NewCode = { code: string; display: string | null }

type Row = NewCode & { id: string }

const columns = bulkColumns<Row>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'code', type: 'text', of: ({ code }) => code },
  { name: 'display', type: 'text', of: ({ display }) => display },
])

// In the order of the index of codes, so that writers who share some wait for each other instead of deadlocking.
const INSERT = `
  INSERT INTO coupon.coupons (project_id, pool_id, ${columns.names})
  SELECT $4::uuid, $5::uuid, ${columns.names} FROM ${columns.unnest} AS given (${columns.names}) ORDER BY code COLLATE "C"
  ON CONFLICT (project_id, code) DO NOTHING RETURNING code`

/**
 * Adds coupons to a pool, except those whose code the project has already. The pool's `generated` is the caller's to
 * raise, in the same transaction and with the pool's row locked.
 * @returns the codes that were new
 */
export const insertCoupons = async (
  client: ClientBase,
  pool: { id: string; projectId: string },
  codes: readonly NewCode[],
): Promise<string[]> => {
  const rows = codes.map(({ code, display }) => ({ id: uuidv7(), code, display }))
  const inserted = await client.query<{ code: string }>({
    name: 'insert-coupons',
    text: INSERT,
    values: [...columns.values(rows), pool.projectId, pool.id],
  })
  return inserted.rows.map(({ code }) => code)
}
