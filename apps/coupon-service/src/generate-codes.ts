import { setImmediate } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'
import type { Database } from '@waymark/database'
import { drawCodes } from '@waymark/domain/coupon'
import type { WorkOwner } from '@waymark/domain/fairness'
import { insertCoupons, issueCards } from '@waymark/pipeline'
import { LRUCache } from 'lru-cache'
import type { ClientBase } from 'pg'
import {
  advancePool,
  failPool,
  findWaitingProjects,
  lockNextPool,
  type UnfinishedPool,
} from './pool-queries.ts'

const CHUNK = 10_000
/** Draws without a new code after which the codes of a pool count as exhausted. */
const MAX_FRUITLESS_DRAWS = 10

/** Most tenants and projects whose last turn is known. */
const MAX_TURNS = 10_000

const EXHAUSTED =
  'No new code could be drawn: alphabet and length leave too few. Create a pool with longer codes.'

/**
 * Generates the next chunk of codes of one pool and updates its count in the same transaction, so that a crash loses
 * nothing. Tenants take turns, and within one its projects. Resolves to the number of pools found, 0 or 1.
 */
export const createGenerateCodes = ({
  db,
  log,
  clock,
}: {
  db: Database
  log: Log
  clock: () => number
}): (() => Promise<0 | 1>) => {
  const turns = createLastTurns()

  const lockNext = async (client: ClientBase): Promise<UnfinishedPool | undefined> => {
    for (const owner of turns.inOrder(await findWaitingProjects(client))) {
      const pool = await lockNextPool(client, owner.projectId)
      if (!pool) continue
      turns.note(owner)
      return pool
    }
    return undefined
  }

  return () =>
    db.transaction(async (client) => {
      const pool = await lockNext(client)
      if (!pool) return 0
      const codes = await insertNew(client, pool)
      const { length: inserted } = codes
      const { cardAmount: amount, cardCurrency: currency } = pool
      if (amount !== null && currency !== null)
        await issueCards(
          client,
          { ...pool, currency },
          codes.map((code) => ({ code, amount })),
          new Date(clock()),
        )
      if (inserted === 0) {
        log.error({ projectId: pool.projectId, poolId: pool.id }, 'Coupon pool has no codes left to generate')
        await failPool(client, pool.id, EXHAUSTED)
      } else await advancePool(client, pool.id, inserted)
      return 1
    })
}

/** When tenants and projects had their last turns. */
export const createLastTurns = () => {
  const last = new LRUCache<string, number>({ max: MAX_TURNS })
  let turn = 0
  const of = (id: string): number => last.get(id) ?? 0
  return {
    note: ({ tenantId, projectId }: WorkOwner): void => {
      turn++
      last.set(tenantId, turn)
      last.set(projectId, turn)
    },
    /** Those whose tenant, and then whose project, had no turn for longest come first. */
    inOrder: (owners: readonly WorkOwner[]): WorkOwner[] =>
      owners.toSorted((a, b) => of(a.tenantId) - of(b.tenantId) || of(a.projectId) - of(b.projectId)),
  }
}

const insertNew = async (client: ClientBase, pool: UnfinishedPool): Promise<string[]> => {
  const wanted = Math.min(CHUNK, pool.missing)
  for (let draw = 0; draw < MAX_FRUITLESS_DRAWS; draw++) {
    const codes = drawCodes(pool, wanted).map((code) => ({ code, display: null }))
    // Drawing and sending take milliseconds each, so requests run in between.
    await setImmediate()
    const inserted = await insertCoupons(client, pool, codes)
    if (inserted.length > 0) return inserted
  }
  return []
}
