import type { Pool } from 'pg'

/** Days for which it is remembered who clicked: clicks may be delivered that late. */
const KEPT_DAYS = 8
const AT_ONCE = 10_000

const FORGET_SALTS = `DELETE FROM link.visitor_salts WHERE day < (now() AT TIME ZONE 'UTC')::date - 1`
const FORGET_VISITORS = `
  DELETE FROM link.daily_visitors WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM link.daily_visitors WHERE day < (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS} LIMIT ${AT_ONCE}))`

/**
 * Deletes the salts of past days, without which nobody can tell whose the hashes are, and the hashes that nothing is
 * counted by any more, 10,000 at a time. Answers whether there may be more.
 */
export const forgetVisitors = async (pool: Pool): Promise<boolean> => {
  await pool.query(FORGET_SALTS)
  const { rowCount } = await pool.query(FORGET_VISITORS)
  return rowCount === AT_ONCE
}
