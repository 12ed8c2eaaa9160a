import { setImmediate } from 'node:timers/promises'
import { createMemoryCache, createMemoryMarks, type SharedMarks } from '@waymark/cache'
import { createPersonChanges, type WantedPerson } from '@waymark/pipeline'
import { createMemoryLog, eventually } from '@waymark/testing/unit'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { createFindPerson } from './find-person.ts'

const wanted = (value: string): WantedPerson => ({
  projectId: '01900000-0000-7000-8000-000000000001',
  kind: 'visitor',
  value,
  countedEvents: new Set(),
})

const HOUR_MS = 60 * 60_000

/** How far the clocks of a process are ahead, in ms: `startedAhead` permanently, `ahead` until it is changed. */
type Clocks = { startedAhead?: number; ahead?: number }

/**
 * A finder on a database with the people `known` by visitor id. `database.fault` makes it fail, or hang until released.
 */
const setUp = (
  cache = createMemoryCache(),
  { startedAhead = 0, ahead = 0, marks = createMemoryMarks() }: Clocks & { marks?: SharedMarks } = {},
) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const database = {
    fault: undefined as 'away' | 'hangs' | undefined,
    asked: [] as string[][],
    plan: 'pro',
    release,
  }
  let time = Date.parse('2026-03-01T12:00:00Z')
  const query = async ({ values }: { values: [unknown, unknown, string[], number[]] }) => {
    const [, , visitors, indexes] = values
    database.asked.push(visitors)
    if (database.fault === 'away') throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const { plan } = database
    if (database.fault === 'hangs') await released
    const rows = visitors.flatMap((visitor, index) =>
      visitor.startsWith('unknown')
        ? []
        : {
            index: indexes[index],
            profile_id: `profile of ${visitor}`,
            bucketing_id: `first of ${visitor}`,
            is_users: true,
            traits: { plan },
            counts: null,
          },
    )
    return { rows }
  }
  const find = createFindPerson({
    pool: { query } as unknown as Pool,
    cache,
    marks,
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
  const changes = createPersonChanges(marks)
  return { find: (value: string) => find(wanted(value)), database, pass, setClock, cache, marks, changes }
}

describe('finding people', () => {
  it('reads concurrent look-ups with one statement', async () => {
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

  it('shares a read in progress, and reads again once a person has expired', async () => {
    const { find, database, pass } = setUp()
    const first = find('a')
    await Promise.resolve()
    await Promise.all([first, find('a'), find('a')])
    expect(database.asked).toEqual([['a']])
    pass(5_000)
    await Promise.all([find('a'), find('a')])
    expect(database.asked).toEqual([['a'], ['a']])
  })

  it('refreshes a requested person in the background before it expires', async () => {
    const { find, database, pass } = setUp()
    await Promise.all(['a', 'b'].map(find))
    pass(3_999)
    expect(await find('a')).toMatchObject({ late: false })
    pass(1)
    expect(await Promise.all(['a', 'b', 'a'].map(find))).toMatchObject(Array(3).fill({ late: false }))
    expect(database.asked).toHaveLength(1)
    await eventually('they are read again', () => database.asked.length === 2)
    expect(database.asked[1]).toEqual(['a', 'b'])
    pass(4_999)
    expect(await find('a')).toMatchObject({ person: { bucketingId: 'first of a' }, late: false })
  })

  it('keeps the cached person when a background refresh fails', async () => {
    const { find, database, pass } = setUp()
    await find('a')
    pass(4_000)
    database.fault = 'away'
    void find('a')
    await eventually('it was tried', () => database.asked.length === 2)
    await setImmediate()
    expect(await find('a')).toMatchObject({ person: { traits: { plan: 'pro' } }, late: false })
    pass(1_000)
    expect(await find('a')).toMatchObject({ person: { traits: {} }, late: true })
  })

  it('does not share a read that began before the look-up', async () => {
    const { find, database, pass } = setUp()
    database.fault = 'hangs'
    const first = find('a')
    await eventually('the database is asked', () => database.asked.length === 1)
    database.fault = undefined
    database.plan = 'changed since'
    pass(1)
    expect(await find('a')).toMatchObject({ person: { traits: { plan: 'changed since' } }, late: false })
    database.release()
    await first
    // The first read finished last, and must not replace the later one.
    expect(await find('a')).toMatchObject({ person: { traits: { plan: 'changed since' } } })
  })

  it.each([['a'], ['unknown']])('caches %s for 5 s', async (visitor) => {
    const { find, database, pass } = setUp()
    await find(visitor)
    pass(4_999)
    await find(visitor)
    expect(database.asked).toHaveLength(1)
    pass(1)
    await find(visitor)
    expect(database.asked).toHaveLength(2)
  })

  it('uses the copy of another process, for 5 s since its read', async () => {
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
    it('does not consider copies of others newer than they are', async () => {
      const { find, cache } = setUp()
      await find('a')
      const other = setUp(cache, clocks)
      other.pass(5_000)
      expect((await other.find('a')).late).toBe(false)
      expect(other.database.asked).toEqual([['a']])
    })

    it('writes no copy that others consider newer than it is', async () => {
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
  ])('shares its reads with a clock that was an hour %s at its start', async (_which, startedAhead) => {
    const { find, cache } = setUp(undefined, { startedAhead })
    await find('a')
    const other = setUp(cache, { startedAhead: -startedAhead })
    other.pass(4_999)
    expect((await other.find('a')).person?.traits).toEqual({ plan: 'pro' })
    expect(other.database.asked).toEqual([])
    other.pass(1)
    await other.find('a')
    expect(other.database.asked).toEqual([['a']])
  })

  it('dates a late result by the time of its request', async () => {
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
  ])('caches for 5 s even if the clock is set an hour %s', async (_where, jumpMs) => {
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
    'identifies a person from an old copy without traits while the database is %s',
    async (fault) => {
      const { find, database, pass, cache } = setUp()
      await find('a')
      pass(60_000)
      database.fault = fault
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
      // A new process reads it from the cache.
      const other = setUp(cache)
      other.pass(60_000)
      other.database.fault = fault
      expect(await other.find('a')).toMatchObject({ person: { bucketingId: 'first of a' }, late: true })
    },
  )

  it('pauses requests to a failing database, and then retries', async () => {
    const { find, database, pass } = setUp()
    database.fault = 'away'
    for (const visitor of ['a', 'b', 'c', 'd', 'e']) await find(visitor)
    expect(database.asked).toHaveLength(3)
    database.fault = undefined
    pass(1_500)
    expect((await find('a')).late).toBe(false)
    expect((await find('b')).late).toBe(false)
  })

  it('tries a database that hangs with one statement after each pause', async () => {
    const { find, database, pass } = setUp()
    database.fault = 'hangs'
    for (const visitor of ['a', 'b', 'c']) await find(visitor)
    pass(1_500)
    const tried = find('d')
    await eventually('the database is tried', async () => database.asked.length === 4)
    expect(await find('e')).toEqual({ person: undefined, late: true })
    await tried
    expect(await find('f')).toEqual({ person: undefined, late: true })
    expect(database.asked).toHaveLength(4)
  })

  it('works without a cache that hangs', async () => {
    const hanging = { ...createMemoryCache(), get: () => new Promise<undefined>(() => {}) }
    const { find } = setUp(hanging)
    expect(await find('a')).toMatchObject({ person: { bucketingId: 'first of a' }, late: false })
  })

  describe('after a change of a person', () => {
    const change = async ({ changes, database }: ReturnType<typeof setUp>, ...profiles: string[]) => {
      database.plan = 'changed'
      await changes.announce(profiles.length > 0 ? [] : [wanted('a')], profiles)
    }
    const changed = { person: { traits: { plan: 'changed' } }, late: false }

    it.each([
      ['the id', []],
      ['the profile', ['profile of a']],
    ])('does not use cached data once %s is marked', async (_what, profiles) => {
      const world = setUp()
      const { find, database, cache, marks } = world
      await find('a')
      await find('a')
      expect(database.asked).toHaveLength(1)
      await change(world, ...profiles)
      expect(await find('a')).toMatchObject(changed)
      // Neither does a process with the copy of another one.
      const other = setUp(cache, { marks })
      other.database.plan = 'changed'
      expect(await other.find('a')).toMatchObject(changed)
    })

    it('uses what others read since, and no earlier copy', async () => {
      const world = setUp()
      await world.find('a')
      const other = setUp(world.cache, { marks: world.marks })
      await change(world)
      other.database.plan = 'changed'
      expect(await other.find('a')).toMatchObject(changed)
      const third = setUp(world.cache, { marks: world.marks })
      expect(await third.find('a')).toMatchObject(changed)
      expect(third.database.asked).toEqual([])
    })

    it('caches again after that', async () => {
      const world = setUp()
      await world.find('a')
      await change(world, 'profile of a')
      await world.find('a')
      const { length } = world.database.asked
      expect(await world.find('a')).toMatchObject(changed)
      expect(world.database.asked).toHaveLength(length)
    })

    it('finds a previously unknown person', async () => {
      const { find, database, changes } = setUp()
      expect((await find('unknown')).person).toBeUndefined()
      await changes.announce([wanted('unknown')], ['p'])
      await find('unknown')
      expect(database.asked).toHaveLength(2)
    })

    it('reports the change while it is queued', async () => {
      const { find, changes } = setUp()
      await find('a')
      await changes.announceQueued([wanted('a')])
      expect((await find('a')).late).toBe(true)
      expect((await find('a')).late).toBe(true)
      await changes.announce([wanted('a')], ['profile of a'])
      expect((await find('a')).late).toBe(false)
    })

    it('reports when the database cannot be read', async () => {
      const world = setUp()
      await world.find('a')
      await change(world)
      world.database.fault = 'away'
      expect(await world.find('a')).toMatchObject({ person: { traits: {} }, late: true })
    })
  })

  describe.each([
    ['fail', async () => undefined],
    ['hang', () => new Promise<undefined>(() => {})],
  ])('while marks %s', (_how, read) => {
    const away = (): SharedMarks => ({ ...createMemoryMarks(), read })

    it('reads every person from the database', async () => {
      const { find, database } = setUp(undefined, { marks: away() })
      await find('a')
      database.plan = 'changed'
      expect(await find('a')).toMatchObject({ person: { traits: { plan: 'changed' } }, late: false })
    })

    it('uses the cached person when the database is unavailable as well, and reports it', async () => {
      const { find, database, pass } = setUp(undefined, { marks: away() })
      await find('a')
      database.fault = 'away'
      expect(await find('a')).toMatchObject({ person: { traits: { plan: 'pro' } }, late: true })
      pass(5_000)
      expect(await find('a')).toMatchObject({ person: { traits: {} }, late: true })
    })
  })
})
