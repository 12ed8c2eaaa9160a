import type { Pool } from 'pg'

// In order, because processes mark the same decisions at the same time.
const MARK = `
  UPDATE decision.decisions SET evaluated_on = $2::date
  WHERE id IN (
    SELECT id FROM decision.decisions
    WHERE id = ANY ($1::uuid[]) AND evaluated_on < $2::date
    ORDER BY id FOR UPDATE
  )`

/** Stores that requests asked for decisions on a day (UTC), unless a later one is stored. */
export const markEvaluated = async (pool: Pool, ids: readonly string[], day: Date): Promise<void> => {
  await pool.query(MARK, [ids, day.toISOString().slice(0, 10)])
}
