import { hash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'

const DAY_MS = 24 * 60 * 60_000
const HASH_LENGTH = 22

const SHARE = `
  WITH offered AS (SELECT * FROM unnest($1::date[], $2::text[]) AS given (day, salt)), kept AS (
    INSERT INTO link.visitor_salts (day, salt) SELECT day, salt FROM offered ON CONFLICT DO NOTHING RETURNING day, salt
  )
  SELECT day::text, salt FROM kept UNION ALL SELECT s.day::text, s.salt FROM link.visitor_salts s JOIN offered USING (day)`

/**
 * Distinguishes the visitors of a day without identifying them: hashes address and user agent with the day's salt, which
 * processes share through the database and which is deleted afterwards. Until it is read, this process uses its own salt.
 */
export const createVisitorHash = ({ pool, now }: { pool: Pool; now: () => number }) => {
  const salts = new LRUCache<string, string>({ max: 4 })
  const shared = new Set<string>()
  const saltOf = (day: string): string => {
    const known = salts.get(day)
    if (known !== undefined) return known
    const salt = randomBytes(24).toString('base64url')
    salts.set(day, salt)
    return salt
  }

  return {
    /** Shares the salts of today and tomorrow with other processes. @throws when the database is unavailable */
    shareSalts: async (): Promise<void> => {
      const days = [dayOf(now()), dayOf(now() + DAY_MS)].filter((day) => !shared.has(day))
      if (days.length === 0) return
      const { rows } = await pool.query<{ day: string; salt: string }>(SHARE, [days, days.map(saltOf)])
      for (const { day, salt } of rows) {
        salts.set(day, salt)
        shared.add(day)
      }
    },
    /** The hash of a project's visitor for the day of `atMs`. */
    hashVisitor: (atMs: number, projectId: string, ip: string, userAgent: string): string => {
      const text = `${saltOf(dayOf(atMs))}\n${projectId}\n${ip}\n${userAgent}`
      return hash('sha256', text, 'base64url').slice(0, HASH_LENGTH)
    },
  }
}

export type VisitorHash = ReturnType<typeof createVisitorHash>

const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)
