import { setTimeout as sleep } from 'node:timers/promises'

const ATTEMPTS = 6
const DELAY_MS = 20
// Deadlock and serialization failure. PostgreSQL has rolled back the transaction.
const CONFLICTS = new Set(['40P01', '40001'])

/** Runs a transaction again after a conflict with another, up to six times in total, with growing delays. */
export const retryConflicts = async <T>(run: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (attempt === ATTEMPTS || typeof code !== 'string' || !CONFLICTS.has(code)) throw error
    }
    await sleep(Math.random() * DELAY_MS * attempt)
  }
}
