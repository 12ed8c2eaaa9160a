import { hash, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { shareSalts } from './visitor-salt-queries.ts'

const DAY_MS = 24 * 60 * 60_000
const HASH_LENGTH = 22

type VisitorHashDeps = {
  pool: Pool
  /** The clock in ms. */
  now: () => number
  /** Keeps the visitors of links and those of pages apart, so that nobody can join them. */
  purpose: 'links' | 'pages'
}

/**
 * Distinguishes the visitors of a day without identifying them: hashes address and user agent with the day's salt, which
 * processes share through the database and which is deleted afterwards. Until it is read, this process uses its own salt.
 */
export const createVisitorHash = ({ pool, now, purpose }: VisitorHashDeps) => {
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
      const offered = days.map((day) => ({ day, salt: saltOf(day) }))
      for (const { day, salt } of await shareSalts(pool, offered)) {
        salts.set(day, salt)
        shared.add(day)
      }
    },
    /** The hash of a project's visitor for the day of `atMs`. */
    hashVisitor: (atMs: number, projectId: string, ip: string, userAgent: string): string => {
      const text = `${saltOf(dayOf(atMs))}\n${purpose}\n${projectId}\n${ip}\n${userAgent}`
      return hash('sha256', text, 'base64url').slice(0, HASH_LENGTH)
    },
  }
}

export type VisitorHash = ReturnType<typeof createVisitorHash>

const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)
