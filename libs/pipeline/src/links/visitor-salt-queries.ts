import type { Pool } from 'pg'

/** The salt of the visitor hashes of a day, such as `2026-11-25` (UTC). */
type VisitorSalt = { day: string; salt: string }

const SHARE = `
  WITH offered AS (SELECT * FROM unnest($1::date[], $2::text[]) AS given (day, salt)), kept AS (
    INSERT INTO link.visitor_salts (day, salt) SELECT day, salt FROM offered ON CONFLICT DO NOTHING RETURNING day, salt
  )
  SELECT day::text, salt FROM kept UNION ALL SELECT s.day::text, s.salt FROM link.visitor_salts s JOIN offered USING (day)`

/** Stores the salts of days that have none. Resolves to the stored salt of each of these days. */
export const shareSalts = async (pool: Pool, offered: readonly VisitorSalt[]): Promise<VisitorSalt[]> => {
  const { rows } = await pool.query<VisitorSalt>(SHARE, [
    offered.map(({ day }) => day),
    offered.map(({ salt }) => salt),
  ])
  return rows
}
