import type { Pool, PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { withTransaction } from './transaction.ts'

const DEADLOCK = Object.assign(new Error('deadlock detected'), { code: '40P01' })

/** A pool whose connection answers a statement `FAIL` and the COMMIT after it at once, as in one packet. */
const poolOfOnePacket = (): Pool => {
  const failing = Promise.withResolvers<never>()
  const query = async (text: string): Promise<{ command: string }> => {
    if (text === 'FAIL') return failing.promise
    if (text !== 'COMMIT') return { command: text }
    failing.reject(DEADLOCK)
    return { command: 'ROLLBACK' }
  }
  return { connect: async () => ({ query, release: () => {} }) as unknown as PoolClient } as unknown as Pool
}

describe('a transaction that is committed with its last statements', () => {
  it('rejects with the error of the statement that failed, however deep that is awaited', async () => {
    const count = async (client: PoolClient) => await client.query('FAIL')
    const run = withTransaction(poolOfOnePacket(), async (client, commit) => {
      const counted = Promise.all([count(client)])
      await Promise.all([counted, commit()])
    })
    await expect(run).rejects.toBe(DEADLOCK)
  })
})
