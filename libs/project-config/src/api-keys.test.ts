import type { Cache } from '@waymark/cache'
import { generateApiKey } from '@waymark/domain/key'
import { createMemoryLog } from '@waymark/testing/unit'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { createApiKeys } from './api-keys.ts'
import { createConfigChanges } from './config-changes.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

const { key, keyId, secretHash } = generateApiKey('sec')
const unknownKey = generateApiKey('sec').key

const storedRow = {
  id: 'key-1',
  tenant_id: 'tenant-1',
  project_id: 'project-1',
  kind: 'sec',
  scopes: ['events:write'],
  secret_hash: secretHash.toString('base64'),
  validation_mode: null,
  allowed_origins: [],
  requests_per_minute: null as number | null,
  environment: 'production',
  expires_at: null as Date | null,
  revoked_at: null as Date | null,
}
const recognised = { id: 'key-1', projectId: 'project-1', kind: 'sec', scopes: ['events:write'] }
const unavailable = expect.objectContaining({
  code: 'store_unavailable',
  details: { retryAfter: expect.any(Number) },
})

/** A clock, a database with one key, a cache, and processes that share them. The test controls all of them. */
const setUp = (row: Partial<typeof storedRow> = {}) => {
  const rows = new Map([[keyId, { ...storedRow, ...row }]])
  const changes: { change_id: string; subject: string; at: number }[] = []
  const cached = new Map<string, { value: string; until: number }>()
  const polls: (() => Promise<void>)[] = []
  const world = {
    now: Date.parse('2026-11-21T04:00:00Z'),
    rows,
    cached,
    cacheAway: false,
    /** Advances the clock. Every process polls once a second, like a service. */
    wait: async (ms: number) => {
      for (const end = world.now + ms; world.now < end; ) {
        const next = Math.min(end, (Math.floor(world.now / SECOND_MS) + 1) * SECOND_MS)
        world.now = next
        if (next % SECOND_MS === 0) await Promise.all(polls.map((poll) => poll().catch(() => {})))
      }
    },
    revoke: () => {
      rows.set(keyId, { ...storedRow, revoked_at: new Date(world.now) })
      changes.push({ change_id: `${changes.length}`, subject: 'project-1', at: world.now })
    },
  }
  const cache: Cache = {
    get: async (name) => {
      const entry = cached.get(name)
      return entry && !world.cacheAway && entry.until > world.now ? entry.value : undefined
    },
    set: async (name, value, ttlMs) => {
      if (!world.cacheAway) cached.set(name, { value, until: world.now + ttlMs })
    },
    delete: async (name) => void cached.delete(name),
    close: async () => {},
  }

  /** A process, with its queries to the database. */
  const startProcess = async () => {
    const process = {
      databaseAway: false,
      /** Key look-ups, without polls. */
      queries: 0,
      /** Look-ups wait for this promise before they read. */
      before: Promise.resolve(),
      authenticate: (text: string) => apiKeys.authenticate(text),
    }
    const query = async ({ name, values: [value] }: { name: string; values: unknown[] }) => {
      if (name === 'api-key') process.queries++
      await process.before
      if (process.databaseAway) throw Object.assign(new Error('no database'), { code: 'ECONNREFUSED' })
      if (name === 'config-changes')
        return { rows: changes.filter(({ at }) => at > world.now - Number(value)) }
      const found = rows.get(`${value}`)
      return { rows: found ? [found] : [] }
    }
    // The only method of a pool that is used.
    const pool = { query } as unknown as Pool
    const parts = { pool, log: createMemoryLog(), now: () => world.now }
    const configChanges = createConfigChanges(parts)
    const apiKeys = createApiKeys({ ...parts, clock: parts.now, cache, changes: configChanges })
    polls.push(configChanges.poll)
    await configChanges.poll()
    world.now++
    return process
  }
  return { world, startProcess }
}

const setUpOne = async (row: Partial<typeof storedRow> = {}) => {
  const { world, startProcess } = setUp(row)
  return { world, startProcess, process: await startProcess() }
}

describe('an API key', () => {
  it('is recognized', async () => {
    const { process } = await setUpOne()
    expect(await process.authenticate(key)).toMatchObject(recognised)
  })

  it.each(['', 'nonsense', `${key}x`, `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`])(
    'that is malformed is refused without asking anyone: %j',
    async (text) => {
      const { process } = await setUpOne()
      process.databaseAway = true
      expect(await process.authenticate(text)).toBeUndefined()
      expect(process.queries).toBe(0)
    },
  )

  it.each([
    ['its secret is another', { secret_hash: generateApiKey('sec').secretHash.toString('base64') }],
    ['its hash is damaged', { secret_hash: '' }],
    ['its kind is another', { kind: 'pub' }],
    ['it was revoked', { revoked_at: new Date(0) }],
    ['it has expired', { expires_at: new Date(0) }],
  ])('is refused when %s', async (_, row) => {
    const { process } = await setUpOne(row)
    expect(await process.authenticate(key)).toBeUndefined()
  })

  it.each([null, 6_000])('has its own limit of requests a minute: %s', async (own) => {
    const { process } = await setUpOne({ requests_per_minute: own })
    expect(await process.authenticate(key)).toMatchObject({ requestsPerMinute: own })
  })

  it('expires on time, also while it is cached', async () => {
    const { world, process } = await setUpOne({ expires_at: new Date('2026-11-21T04:00:01Z') })
    world.now = Date.parse('2026-11-21T04:00:00.999Z')
    expect(await process.authenticate(key)).toMatchObject(recognised)
    world.now++
    expect(await process.authenticate(key)).toBeUndefined()
    expect(process.queries).toBe(1)
  })
})

describe('a revoked key', () => {
  it('is refused in every process within 5 s', async () => {
    const { world, startProcess } = setUp()
    const processes = [await startProcess(), await startProcess()]
    for (const process of processes) await process.authenticate(key)
    world.revoke()
    world.cacheAway = true
    await world.wait(5 * SECOND_MS)
    for (const process of processes) expect(await process.authenticate(key)).toBeUndefined()
  })

  it('stays refused while the stores are unavailable', async () => {
    const { world, process } = await setUpOne({ revoked_at: new Date(0) })
    await process.authenticate(key)
    process.databaseAway = world.cacheAway = true
    await world.wait(MINUTE_MS)
    expect(await process.authenticate(key)).toBeUndefined()
  })

  it.each([4, 15, 50])(
    'is refused when the database is back after %i s, however late this is noticed',
    async (seconds) => {
      const { world, process } = await setUpOne()
      await process.authenticate(key)
      process.databaseAway = true
      world.revoke()
      await world.wait(seconds * SECOND_MS)
      process.databaseAway = false
      await world.wait(SECOND_MS)
      expect(await process.authenticate(key)).toBeUndefined()
    },
  )

  it('is refused 5 s after a failed look-up let an old copy be used', async () => {
    const { world, startProcess } = setUp()
    await (await startProcess()).authenticate(key)
    world.revoke()
    await world.wait(MINUTE_MS)
    const process = await startProcess()
    process.databaseAway = true
    expect(await process.authenticate(key)).toMatchObject(recognised)
    process.databaseAway = false
    await world.wait(5 * SECOND_MS)
    expect(await process.authenticate(key)).toBeUndefined()
  })

  it('is refused whenever the database answers, after any sequence of failures', async () => {
    const step = fc.record({
      afterMs: fc.constantFrom(1, 300, 999, 1_000, 2_500, 12_000, 70_000),
      asked: fc.nat(1),
      away: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
      cacheAway: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), fc.nat(14), async (steps, revokedAtStep) => {
        const { world, startProcess } = setUp()
        const processes = [await startProcess(), await startProcess()]
        const upSince = [world.now, world.now]
        let revokedAt = Number.POSITIVE_INFINITY
        for (const [index, { afterMs, asked, away, cacheAway }] of steps.entries()) {
          if (index === revokedAtStep) {
            world.revoke()
            revokedAt = world.now
          }
          world.cacheAway = cacheAway
          for (const [which, process] of processes.entries()) {
            if (process.databaseAway) upSince[which] = world.now
            process.databaseAway = away[which] ?? false
          }
          await world.wait(afterMs)
          const found = await processes[asked]?.authenticate(key).catch(() => 'unknown')
          const isUp = !away[asked] && world.now - (upSince[asked] ?? 0) >= 1_000
          if (isUp && world.now >= revokedAt + 5_000) expect(found).toBeUndefined()
          if (isUp && world.now < revokedAt) expect(found).toMatchObject(recognised)
        }
      }),
    )
  })
})

describe('the database', () => {
  it('is read again for a cached key after a minute, or when its project has changed', async () => {
    const { world, process } = await setUpOne()
    await process.authenticate(key)
    await world.wait(MINUTE_MS - 1)
    await process.authenticate(key)
    expect(process.queries).toBe(1)
    await world.wait(1)
    await process.authenticate(key)
    expect(process.queries).toBe(2)
    world.revoke()
    await world.wait(SECOND_MS)
    await process.authenticate(key)
    await world.wait(20 * SECOND_MS)
    await process.authenticate(key)
    expect(process.queries).toBe(3)
  })

  it('is read for an unknown key once in 2 s, so that a new key works soon', async () => {
    const { world, process } = await setUpOne()
    world.rows.clear()
    expect(await process.authenticate(key)).toBeUndefined()
    world.rows.set(keyId, storedRow)
    await world.wait(1_999)
    expect(await process.authenticate(key)).toBeUndefined()
    expect(process.queries).toBe(1)
    await world.wait(1)
    expect(await process.authenticate(key)).toMatchObject(recognised)
  })

  it('is the only store for unknown keys: invented keys do not fill the shared cache', async () => {
    const { world, process } = await setUpOne()
    await process.authenticate(unknownKey)
    expect(world.cached.size).toBe(0)
  })

  it('is read once for concurrent requests', async () => {
    const { process } = await setUpOne()
    const gate = Promise.withResolvers<void>()
    process.before = gate.promise
    const found = Promise.all(Array.from({ length: 10 }, () => process.authenticate(key)))
    gate.resolve()
    expect(await found).toMatchObject(Array(10).fill(recognised))
    expect(process.queries).toBe(1)
  })
})

describe('while no store responds', () => {
  it('accepts a key that was valid for 5 minutes, and not a millisecond more', async () => {
    const { world, process } = await setUpOne()
    await process.authenticate(key)
    process.databaseAway = world.cacheAway = true
    await world.wait(5 * MINUTE_MS - 1)
    expect(await process.authenticate(key)).toMatchObject(recognised)
    await world.wait(1)
    await expect(process.authenticate(key)).rejects.toThrow(unavailable)
  })

  it('does not read a cached key from the database, so that no request waits', async () => {
    const { world, process } = await setUpOne()
    await process.authenticate(key)
    process.databaseAway = true
    for (let request = 0; request < 130; request++) {
      expect(await process.authenticate(key)).toMatchObject(recognised)
      await world.wait(100)
    }
    expect(process.queries).toBe(1)
    process.databaseAway = false
    await world.wait(SECOND_MS)
    expect(await process.authenticate(key)).toMatchObject(recognised)
    expect(process.queries).toBe(2)
  })

  it('reads a key that a copy has from the database at most once a second', async () => {
    const { world, startProcess } = setUp()
    await (await startProcess()).authenticate(key)
    const process = await startProcess()
    process.databaseAway = true
    await world.wait(10 * SECOND_MS)
    for (let request = 0; request < 30; request++) {
      expect(await process.authenticate(key)).toMatchObject(recognised)
      await world.wait(100)
    }
    expect(process.queries).toBeLessThanOrEqual(3)
  })

  it('does not refuse an unknown key, because its validity is unknown', async () => {
    const { world, process } = await setUpOne()
    await process.authenticate(unknownKey)
    process.databaseAway = true
    await world.wait(2 * SECOND_MS)
    await expect(process.authenticate(unknownKey)).rejects.toThrow(unavailable)
    await expect(process.authenticate(key)).rejects.toThrow(unavailable)
  })

  it('refuses a wrong secret', async () => {
    const other = generateApiKey('sec').secretHash.toString('base64')
    const { world, process } = await setUpOne({ secret_hash: other })
    await process.authenticate(key)
    process.databaseAway = world.cacheAway = true
    await world.wait(MINUTE_MS)
    expect(await process.authenticate(key)).toBeUndefined()
  })

  it('fails concurrent requests together, and reads again for the next', async () => {
    const { process } = await setUpOne()
    process.databaseAway = true
    const attempts = await Promise.allSettled(Array.from({ length: 5 }, () => process.authenticate(key)))
    expect(attempts.every(({ status }) => status === 'rejected')).toBe(true)
    expect(process.queries).toBe(1)
    process.databaseAway = false
    expect(await process.authenticate(key)).toMatchObject(recognised)
  })
})
