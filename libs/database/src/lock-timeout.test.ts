import type { ClientBase } from 'pg'
import { expect, it } from 'vitest'
import { retryLocked, withLockTimeout } from './lock-timeout.ts'

/** Default of PostgreSQL for `deadlock_timeout`, in ms. */
const DEADLOCK_TIMEOUT_MS = 1_000

it('waits for a lock until PostgreSQL has cancelled an autovacuum that holds it', async () => {
  const statements: string[] = []
  const client = {
    query: async (statement: string) => void statements.push(statement),
  } as unknown as ClientBase
  await withLockTimeout(client, 'a', async () => void statements.push('run'), {
    log: () => {},
    warn: () => {},
  })
  const [set, ...rest] = statements
  expect(rest).toEqual(['run', 'SET lock_timeout = 0'])
  expect(Number(/^SET lock_timeout = (\d+)$/.exec(`${set}`)?.[1])).toBeGreaterThan(DEADLOCK_TIMEOUT_MS)
})

it('warns of each wait for a lock', async () => {
  const [logged, warned]: string[][] = [[], []]
  let runs = 0
  const run = async () => {
    if (++runs < 3)
      throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
    return 'done'
  }
  const retry = {
    log: (line: string) => void logged?.push(line),
    warn: (line: string) => void warned?.push(line),
    pauseMs: 1,
  }
  expect(await retryLocked('2_column', run, retry)).toBe('done')
  expect(logged).toEqual([])
  expect(warned).toHaveLength(2)
  expect(warned?.[0]).toMatch(/^2_column did not get a lock/)
})
