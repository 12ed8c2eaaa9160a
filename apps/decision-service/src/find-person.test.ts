import { setImmediate } from 'node:timers/promises'
import { createMemoryCache } from '@waymark/cache'
import type { Wanted } from '@waymark/pipeline'
import { createMemoryLog, eventually } from '@waymark/testing'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { createFindPerson } from './find-person.ts'

const wanted = (value: string): Wanted => ({
  projectId: '01900000-0000-7000-8000-000000000001',
  kind: 'visitor',
  value,
  countedEvents: new Set(),
})

const HOUR_MS = 60 * 60_000

/** How far the clocks of a process are ahead, in ms: `startedAhead` for good, `ahead` until it is set. */
type Clocks = { startedAhead?: number; ahead?: number }

/**
 * A finder on a database that knows `known` by their visitor ids, or fails or hangs, until it is released, as
 * `database.fault` says.
 */
const setUp = (cache = createMemoryCache(), { startedAhead = 0, ahead = 0 }: Clocks = {}) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const database = { fault: undefined as 'away' | 'hangs' | undefined, asked: [] as string[][], release }
  let time = Date.parse('2026-03-01T12:00:00Z')
  const query = async ({ values }: { values: [unknown, unknown, string[], number[]] }) => {
    const [, , visitors, places] = values
    database.asked.push(visitors)
    if (database.fault === 'away') throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    if (database.fault === 'hangs') await released
    const rows = visitors.flatMap((visitor, index) =>
      visitor.startsWith('unknown')
        ? []
        : {
            place: places[index],
            profile_id: `profile of ${visitor}`,
            bucketing_id: `first of ${visitor}`,
            is_users: true,
            traits: { plan: 'pro' },
            counts: null,
          },
    )
    return { rows }
  }
  const find = createFindPerson({
    pool: { query } as unknown as Pool,
    cache,
    log: createMemoryLog(),
    now: () => time + startedAhead,
    clock: () => time + ahead,
  })
  const pass = (ms: number) => {
    time += ms
  }
  const setClock = (aheadMs: number) => {
    ahead = aheadMs
  }
  return { find: (value: string) => find(wanted(value)), database, pass, setClock, cache }
}

describe('finding people', () => {
  it('asks the database once for all who are wanted at one moment', async () => {
    const { find, database } = setUp()
    const found = await Promise.all(['a', 'b', 'unknown', 'a'].map(find))
    expect(found.map(({ person }) => person?.bucketingId)).toEqual([
      'first of a',
      'first of b',
      undefined,
      'first of a',
    ])
    expect(found.every(({ late }) => !late)).toBe(true)
    expect(database.asked).toEqual([['a', 'b', 'unknown']])
  })

  it('reads nobody a second time while the first is under way, and everybody anew once it is old', async () => {
    const { find, database, pass } = setUp()
    const first = find('a')
    await Promise.resolve()
    await Promise.all([first, find('a'), find('a')])
    expect(database.asked).toEqual([['a']])
    pass(5_000)
    await Promise.all([find('a'), find('a')])
    expect(database.asked).toEqual([['a'], ['a']])
  })

  it('reads who is asked for again before it is too old, without anybody waiting', async () => {
    const { find, database, pass } = setUp()
    await Promise.all(['a', 'b'].map(find))
    pass(3_999)
    expect(find('a')).toMatchObject({ late: false })
    pass(1)
    expect(['a', 'b', 'a'].map(find)).toMatchObject(Array(3).fill({ late: false }))
    expect(database.asked).toHaveLength(1)
    await eventually('they are read again', () => database.asked.length === 2)
    expect(database.asked[1]).toEqual(['a', 'b'])
    pass(4_999)
    expect(find('a')).toMatchObject({ person: { bucketingId: 'first of a' }, late: false })
  })

  it('goes on with what is known when the database fails whom nobody waits for', async () => {
    const { find, database, pass } = setUp()
    await find('a')
    pass(4_000)
    database.fault = 'away'
    void find('a')
    await eventually('it was tried', () => database.asked.length === 2)
    await setImmediate()
    expect(find('a')).toMatchObject({ person: { traits: { plan: 'pro' } }, late: false })
    pass(1_000)
    expect(await find('a')).toMatchObject({ person: { traits: {} }, late: true })
  })

  it('waits with who asked before when the database has been asked already', async () => {
    const { find, database } = setUp()
    database.fault = 'hangs'
    const first = find('a')
    // What is wanted at one moment is read at its end.
    await setImmediate()
    expect(database.asked).toEqual([['a']])
    const found = await Promise.all([first, find('a')])
    expect(found.map(({ late }) => late)).toEqual([true, true])
    expect(database.asked).toEqual([['a']])
  })

  it.each([['a'], ['unknown']])('remembers %s for 5 s, and no longer', async (visitor) => {
    const { find, database, pass } = setUp()
    await find(visitor)
    pass(4_999)
    await find(visitor)
    expect(database.asked).toHaveLength(1)
    pass(1)
    await find(visitor)
    expect(database.asked).toHaveLength(2)
  })

  it('takes what another process has read, for 5 s since then', async () => {
    const first = setUp()
    await first.find('a')
    const second = setUp(first.cache)
    second.pass(3_000)
    expect((await second.find('a')).person?.traits).toEqual({ plan: 'pro' })
    expect(second.database.asked).toEqual([])
    second.pass(2_000)
    await second.find('a')
    expect(second.database.asked).toHaveLength(1)
  })

  describe.each([
    ['was an hour fast at its start', { startedAhead: HOUR_MS }],
    ['was an hour slow at its start', { startedAhead: -HOUR_MS }],
    ['is an hour fast', { startedAhead: HOUR_MS, ahead: HOUR_MS }],
    ['is an hour slow', { startedAhead: -HOUR_MS, ahead: -HOUR_MS }],
  ])('in a process whose clock %s', (_which, clocks) => {
    it('takes nothing of others for fresher than it is', async () => {
      const { find, cache } = setUp()
      await find('a')
      const other = setUp(cache, clocks)
      other.pass(5_000)
      expect((await other.find('a')).late).toBe(false)
      expect(other.database.asked).toEqual([['a']])
    })

    it('leaves nothing that others take for fresher than it is', async () => {
      const { find, cache } = setUp(undefined, clocks)
      await find('a')
      const other = setUp(cache)
      other.pass(5_000)
      expect((await other.find('a')).late).toBe(false)
      expect(other.database.asked).toEqual([['a']])
    })
  })

  it.each([
    ['fast', HOUR_MS],
    ['slow', -HOUR_MS],
  ])(
    'shares what it has read also when its clock was an hour %s at its start',
    async (_which, startedAhead) => {
      const { find, cache } = setUp(undefined, { startedAhead })
      await find('a')
      const other = setUp(cache, { startedAhead: -startedAhead })
      other.pass(4_999)
      expect((await other.find('a')).person?.traits).toEqual({ plan: 'pro' })
      expect(other.database.asked).toEqual([])
      other.pass(1)
      await other.find('a')
      expect(other.database.asked).toEqual([['a']])
    },
  )

  it('leaves what came late with the time at which it was asked for', async () => {
    const { find, database, pass, cache } = setUp()
    database.fault = 'hangs'
    expect((await find('a')).late).toBe(true)
    pass(5_000)
    database.release()
    await setImmediate()
    const other = setUp(cache)
    other.pass(5_000)
    await other.find('a')
    expect(other.database.asked).toEqual([['a']])
  })

  it.each([
    ['back', -HOUR_MS],
    ['ahead', HOUR_MS],
  ])('remembers for 5 s, and no longer, also when the clock is set an hour %s', async (_where, jumpMs) => {
    const { find, database, pass, setClock } = setUp()
    await find('a')
    setClock(jumpMs)
    pass(4_999)
    await find('a')
    expect(database.asked).toHaveLength(1)
    pass(1)
    await find('a')
    expect(database.asked).toHaveLength(2)
  })

  it.each(['away', 'hangs'] as const)(
    'knows who somebody is, and nothing of them, while the database is %s',
    async (fault) => {
      const { find, database, pass, cache } = setUp()
      await find('a')
      pass(60_000)
      database.fault = fault
      const startedAt = performance.now()
      expect(await find('a')).toEqual({
        person: {
          profileId: 'profile of a',
          bucketingId: 'first of a',
          isUsers: true,
          traits: {},
          counts: [],
        },
        late: true,
      })
      expect(await find('never seen')).toEqual({ person: undefined, late: true })
      expect(performance.now() - startedAt).toBeLessThan(1_000)
      // A process that has just been started learns it from the cache.
      const other = setUp(cache)
      other.pass(60_000)
      other.database.fault = fault
      expect(await other.find('a')).toMatchObject({ person: { bucketingId: 'first of a' }, late: true })
    },
  )

  it('leaves a failing database alone for a while, and then tries again', async () => {
    const { find, database, pass } = setUp()
    database.fault = 'away'
    for (const visitor of ['a', 'b', 'c', 'd', 'e']) await find(visitor)
    expect(database.asked).toHaveLength(3)
    database.fault = undefined
    pass(1_500)
    expect((await find('a')).late).toBe(false)
    expect((await find('b')).late).toBe(false)
  })

  it('does without a cache that hangs', async () => {
    const hanging = { ...createMemoryCache(), get: () => new Promise<undefined>(() => {}) }
    const { find } = setUp(hanging)
    expect(await find('a')).toMatchObject({ person: { bucketingId: 'first of a' }, late: false })
  })
})
