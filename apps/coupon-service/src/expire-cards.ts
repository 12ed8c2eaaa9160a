import type { Database } from '@waymark/database'
import { expireCards, readBalances } from '@waymark/pipeline'
import { v7 as uuidv7 } from 'uuid'
import { findExpiredCards, lockExpiredCards } from './expire-card-queries.ts'

/** Cards of one movement. */
const CARDS_AT_ONCE = 500

/**
 * Moves what the cards of one pool hold whose time is over to its breakage, at most `CARDS_AT_ONCE` per run. Resolves to how
 * many cards were found. A card that pays an order meanwhile is waited for.
 */
export const createExpireCards =
  ({ db, clock }: { db: Pick<Database, 'pool' | 'transaction'>; clock: () => number }) =>
  async (): Promise<number> => {
    const found = await findExpiredCards(db.pool, new Date(clock()), CARDS_AT_ONCE)
    if (!found) return 0
    const { poolId, projectId, currency, couponIds } = found
    await db.transaction(async (client) => {
      const at = new Date(clock())
      const locked = await lockExpiredCards(client, { poolId, couponIds }, at)
      const balances = await readBalances(client, locked)
      const cards = [...balances].flatMap(([id, balance]) => (balance > 0 ? [{ id, balance }] : []))
      if (cards.length === 0) return
      await expireCards(client, { id: uuidv7(), projectId, kind: 'expired', at }, { poolId, currency }, cards)
    })
    return couponIds.length
  }
