import type { IdentifyRecord } from '@waymark/contracts/records/ingest-record'
import { changedProfiles } from '@waymark/contracts/topics'
import { openDatabase } from '@waymark/database'
import { type Identity, type IdentityKind, profileIdOf } from '@waymark/domain/identity'
import { anEnrichedEvent, createTestDatabase, seededRandom, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { applyIdentify } from '../src/identity/apply-identify.ts'
import { changePeople, type PersonChange } from '../src/identity/change-people.ts'
import { resolveProfiles } from '../src/identity/identity-queries.ts'
import { storeTouches } from '../src/identity/store-touches.ts'
import { writeTraits } from '../src/identity/write-traits.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 4, minute)).toISOString()

describe.skipIf(!services)('identities and profiles', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  let projectId: string

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 30, applicationName: 'test', onError: () => {} })
  })
  beforeEach(() => {
    projectId = uuidv7()
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const identityOf = (kind: IdentityKind, value: string): Identity => ({ projectId, kind, value })
  const record = (
    visitorId: string,
    userId: string,
    {
      traits = {},
      minute = 0,
      id = uuidv7(),
      verified,
    }: { traits?: object; minute?: number; id?: string; verified?: boolean } = {},
  ): IdentifyRecord => ({
    v: 1,
    kind: 'identify',
    id,
    projectId,
    receivedAt: at(minute),
    visitorId,
    userId,
    traits: { ...traits },
    ...(verified !== undefined && { verified }),
  })
  const identify = async (...args: Parameters<typeof record>) =>
    (await applyIdentify(db, record(...args)))?.profileId ?? ''
  const write = (
    kind: IdentityKind,
    value: string,
    traits: Record<string, unknown>,
    minute = 0,
    verified = true,
  ) =>
    writeTraits(db, {
      id: uuidv7(),
      person: identityOf(kind, value),
      traits,
      receivedAt: at(minute),
      verified,
    })
  const resolve = async (visitorId: string | null, userId: string | null = null) =>
    (await resolveProfiles(db.pool, [{ projectId, visitorId, userId }]))[0]
  const profileOf = (id: string) => db.prisma.profile.findUniqueOrThrow({ where: { id } })
  const traitsOf = async (id: string) => (await profileOf(id)).traits

  it('keeps the traits and the link that were true later, whether history or live calls come first', async () => {
    const live = record('v', 'u', { traits: { plan: 'pro', city: 'Bern' }, minute: 50 })
    const past = { ...record('v', 'other', { traits: { age: 7 }, minute: 55 }), happenedAt: at(10) }
    const older = {
      id: uuidv7(),
      projectId,
      visitorId: null,
      userId: 'u',
      receivedAt: at(56),
      happenedAt: at(20),
    }
    const traits = { plan: 'free', city: null, age: 8 }
    const states = []
    for (const order of [
      [live, past, older],
      [older, past, live],
      [past, live, older],
    ]) {
      projectId = uuidv7()
      for (const one of order)
        await changePeople(db, [{ traits, ...one, projectId, verified: true, mustFit: false }])
      const profile = await resolve('v')
      states.push({ isUsers: profile === (await resolve(null, 'u')), traits: await traitsOf(profile ?? '') })
    }
    const newest = { isUsers: true, traits: { plan: 'pro', city: 'Bern', age: 8 } }
    expect(states).toEqual([newest, newest, newest])
  })

  it('creates a visitor’s profile with the first event and finds it again', async () => {
    const id = await resolve('v')
    expect(id).toBe(profileIdOf(identityOf('visitor', 'v')))
    expect(await resolve('v')).toBe(id)
    expect(await profileOf(id ?? '')).toMatchObject({ bucketingId: 'v', userId: null, traits: {} })
  })

  it('assigns an event with both ids to the user, and links nothing', async () => {
    const user = await resolve('v', 'u')
    expect(user).toBe(profileIdOf(identityOf('user', 'u')))
    expect(await profileOf(user ?? '')).toMatchObject({ bucketingId: 'u', userId: 'u' })
    expect(await resolve('v')).not.toBe(user)
  })

  it('returns profiles in the order of the batch, and none for events without ids', async () => {
    const people = [
      { projectId, visitorId: 'a', userId: null },
      { projectId, visitorId: null, userId: null },
      { projectId, visitorId: null, userId: 'b' },
      { projectId: uuidv7(), visitorId: 'a', userId: null },
      { projectId, visitorId: 'a', userId: null },
    ]
    const [first, nobody, user, foreign, again] = await resolveProfiles(db.pool, people)
    expect(nobody).toBeNull()
    expect(first).toBe(again)
    expect(new Set([first, user, foreign]).size).toBe(3)
    expect(await resolveProfiles(db.pool, [])).toEqual([])
  })

  it('creates one profile for two new ids', async () => {
    const id = await identify('v', 'u', { traits: { email: 'a@b.c', plan: null } })
    expect(await resolve('v')).toBe(id)
    expect(await resolve(null, 'u')).toBe(id)
    expect(await profileOf(id)).toMatchObject({ bucketingId: 'v', userId: 'u', traits: { email: 'a@b.c' } })
  })

  it('turns the anonymous profile into that of a new user', async () => {
    const { profileId } = await write('visitor', 'v', { plan: 'trial' })
    expect(await identify('v', 'u', { traits: { name: 'Ann' } })).toBe(profileId)
    expect(await profileOf(profileId)).toMatchObject({
      bucketingId: 'v',
      userId: 'u',
      traits: { plan: 'trial', name: 'Ann' },
    })
  })

  it('publishes changed profiles, also one that an event created and that gets no trait', async () => {
    await resolve('v')
    const id = await identify('v', 'u')
    const { rows } = await db.pool.query<{ value: string }>(
      'SELECT value FROM ingest.outbox WHERE key = $1',
      [`${projectId}:${id}`],
    )
    const [published] = rows.map(({ value }) => JSON.parse(value) as unknown)
    expect(changedProfiles.validator.check(published)).toBeUndefined()
    expect(published).toMatchObject({ profileId: id, version: 1 })
  })

  it('merges the anonymous profile into the user’s, and prefers the user’s own traits', async () => {
    const user = await write('user', 'u', { plan: 'paid', city: null }, 1)
    const visitor = await write('visitor', 'v', { plan: 'trial', city: 'Bern', theme: 'dark' }, 2)
    expect(await identify('v', 'u', { minute: 3 })).toBe(user.profileId)
    expect(await resolve('v')).toBe(user.profileId)
    expect(await profileOf(user.profileId)).toMatchObject({
      bucketingId: 'u',
      traits: { plan: 'paid', theme: 'dark' },
      mergedInto: null,
    })
    expect(await profileOf(visitor.profileId)).toMatchObject({
      mergedInto: user.profileId,
      traits: {},
      traitTimes: {},
      firstTouch: null,
    })
    // From now on the visitor's writes are for the user.
    await write('visitor', 'v', { plan: 'free' }, 4)
    expect(await traitsOf(user.profileId)).toMatchObject({ plan: 'free' })
  })

  it('links a second device to the user', async () => {
    const id = await identify('phone', 'u', { traits: { plan: 'free' } })
    expect(await identify('laptop', 'u')).toBe(id)
    expect(await resolve('laptop')).toBe(id)
    expect(await profileOf(id)).toMatchObject({ bucketingId: 'phone', traits: { plan: 'free' } })
  })

  it('links a visitor to another user from the next login on, and keeps the history', async () => {
    const first = await identify('v', 'ann', { traits: { name: 'Ann' }, minute: 1 })
    const second = await identify('v', 'bob', { traits: { name: 'Bob' }, minute: 2 })
    expect(second).not.toBe(first)
    expect(await resolve('v')).toBe(second)
    expect(await resolve(null, 'ann')).toBe(first)
    expect(await traitsOf(first)).toEqual({ name: 'Ann' })
    expect(await traitsOf(second)).toEqual({ name: 'Bob' })
    expect(await identify('v', 'ann', { minute: 3 })).toBe(first)
    expect(await resolve('v')).toBe(first)
  })

  it('does not link a visitor back by a late identify call, and applies its traits', async () => {
    const bob = await identify('v', 'bob', { minute: 2 })
    const ann = await identify('v', 'ann', { minute: 1, traits: { name: 'Ann' } })
    expect(await resolve('v')).toBe(bob)
    expect(await traitsOf(ann)).toEqual({ name: 'Ann' })
    expect(await profileOf(ann)).toMatchObject({ userId: 'ann', bucketingId: 'ann' })
  })

  it('changes nothing when it is repeated', async () => {
    await resolve('v')
    const once = record('v', 'u', { traits: { plan: 'free', city: null }, minute: 1 })
    const id = (await applyIdentify(db, once))?.profileId ?? ''
    const { updatedAt: _before, ...first } = await profileOf(id)
    expect(await applyIdentify(db, once)).toMatchObject({ profileId: id })
    const { updatedAt: _after, ...second } = await profileOf(id)
    expect(second).toEqual(first)
  })

  it('keeps the last write of a trait, for any order of application', async () => {
    const writes = [
      record('v', 'u', { traits: { plan: 'free', city: 'Bern' }, minute: 1 }),
      record('v', 'u', { traits: { plan: 'paid' }, minute: 3 }),
      record('v', 'u', { traits: { city: null }, minute: 2 }),
    ]
    for (const late of writes.toReversed()) await applyIdentify(db, late)
    const id = await identify('v', 'u', { minute: 0 })
    expect(await traitsOf(id)).toEqual({ plan: 'paid' })
  })

  it('keeps an email that a verified write set, for any order of writes', async () => {
    const set = { traits: { email: 'ann@example.com' }, verified: true }
    const forged = { traits: { email: 'eve@example.com', plan: 'x' } }
    const first = await identify('v', 'u', { ...set, minute: 1 })
    expect(await applyIdentify(db, record('v', 'u', { ...forged, minute: 2 }))).toEqual({
      profileId: first,
      droppedKeys: ['email'],
      leftOutKeys: [],
    })
    expect(await traitsOf(first)).toEqual({ email: 'ann@example.com', plan: 'x' })
    // The queued write of the secret key is applied after a later one of a browser.
    const second = await identify('w', 'late', { ...forged, minute: 2, verified: false })
    await identify('w', 'late', { ...set, minute: 1 })
    expect(await traitsOf(second)).toEqual({ email: 'ann@example.com', plan: 'x' })
  })

  it('treats traits without a recorded writer as verified', async () => {
    const id = await resolve('v', 'u')
    await db.pool.query(
      `UPDATE ingest.profiles SET traits = '{"email":"ann@example.com"}',
         trait_times = '{"email":{"at":"2026-01-01T00:00:00.000Z","by":"x","own":true}}' WHERE id = $1`,
      [id],
    )
    expect(await write('user', 'u', { email: 'eve@example.com' }, 1, false)).toEqual({
      profileId: id,
      traits: { email: 'ann@example.com' },
      droppedKeys: ['email'],
    })
  })

  describe('of a profile that is full', () => {
    const filler = 'x'.repeat(65_536 - '{"a":""}'.length)

    it('drops the traits of a queued identify, and links the ids', async () => {
      await write('user', 'u', { a: filler })
      const late = record('v', 'u', { traits: { b: 1, c: 2 }, minute: 1 })
      const { profileId = '', leftOutKeys } = (await applyIdentify(db, late)) ?? {}
      expect(leftOutKeys).toEqual(['b', 'c'])
      expect(await resolve('v')).toBe(profileId)
      expect(await traitsOf(profileId)).toEqual({ a: filler })
    })

    it('refuses all traits of a write that must be applied completely', async () => {
      await write('user', 'u', { a: filler })
      const refused = applyIdentify(db, record('v', 'u', { traits: { b: 1 } }), { mustFit: true })
      await expect(refused).rejects.toMatchObject({ code: 'bad_request' })
      expect(await db.prisma.identity.count({ where: { projectId, value: 'v' } })).toBe(0)
    })

    it('refuses one byte too many, and accepts a write that reduces the size', async () => {
      await write('user', 'u', { a: filler })
      await expect(write('user', 'u', { a: `${filler}x` }, 1)).rejects.toMatchObject({ code: 'bad_request' })
      expect(await write('user', 'u', { a: 1, b: filler.slice(10) }, 2)).toMatchObject({ droppedKeys: [] })
    })

    it('enforces the limit under concurrent writes', async () => {
      const writes = Array.from({ length: 12 }, (_, n) =>
        write('user', 'u', { [`t${n}`]: 'x'.repeat(8_000) }),
      )
      const settled = await Promise.allSettled(writes)
      const fulfilled = settled.filter(({ status }) => status === 'fulfilled')
      expect(fulfilled).toHaveLength(8)
      expect(JSON.stringify(await traitsOf((await resolve(null, 'u')) ?? '')).length).toBeLessThan(65_536)
    })
  })

  it('stores any JSON as a trait', async () => {
    const traits = {
      toString: 'x',
      text: 'q"\\,{}',
      emoji: '😀',
      list: [null, 1],
      nested: { a: 1e308 },
      '': 0,
    }
    const written = await write('user', 'u', traits)
    expect(written.traits).toEqual(traits)
    expect(await traitsOf(written.profileId)).toEqual(traits)
  })

  describe('touches', () => {
    const eventOf = (
      profileId: string,
      eventId: string,
      minute: number,
      source: string | null = eventId,
    ) => ({
      ...anEnrichedEvent({
        projectId,
        receivedAt: at(minute),
        event: { eventId, properties: source ? { url: `https://shop.example/?utm_source=${source}` } : {} },
      }),
      profileId,
    })
    const store = (...events: ReturnType<typeof eventOf>[]) =>
      db.transaction((client) => storeTouches(client, events))
    const touchesOf = async (id: string) => {
      const { firstTouch, lastTouch } = await profileOf(id)
      return [firstTouch, lastTouch].map((touch) => (touch as { eventId: string } | null)?.eventId)
    }

    it('are the first and the last, for any order of events', async () => {
      const id = (await resolve('v')) ?? ''
      await store(eventOf(id, 'b', 2), eventOf(id, 'c', 3))
      await store(eventOf(id, 'a', 1), eventOf(id, 'direct', 0, null), eventOf(id, 'late', 9, null))
      expect(await touchesOf(id)).toEqual(['a', 'c'])
    })

    it('are moved when the profile is merged, and belong to the user afterwards', async () => {
      const user = (await resolve(null, 'u')) ?? ''
      const visitor = (await resolve('v')) ?? ''
      await store(eventOf(visitor, 'b', 2), eventOf(user, 'c', 3))
      await identify('v', 'u')
      expect(await touchesOf(user)).toEqual(['b', 'c'])
      await store(eventOf(visitor, 'a', 1), eventOf(visitor, 'd', 4))
      expect(await touchesOf(user)).toEqual(['a', 'd'])
      expect(await touchesOf(visitor)).toEqual([undefined, undefined])
    })

    it('go along from all profiles that are merged in one transaction', async () => {
      const visitors = ['a', 'b', 'c']
      const user = (await resolve(null, 'u')) ?? ''
      for (const [n, visitor] of visitors.entries())
        await store(eventOf((await resolve(visitor)) ?? '', visitor, n))
      await changePeople(
        db,
        visitors.map((visitor) => ({ ...record(visitor, 'u'), verified: true, mustFit: true })),
      )
      expect(await touchesOf(user)).toEqual(['a', 'c'])
    })

    it('are kept when profiles are merged concurrently', async () => {
      const visitors = await Promise.all(Array.from({ length: 15 }, (_, n) => resolve(`v${n}`)))
      const user = (await resolve(null, 'u')) ?? ''
      // No more than there are connections, because calls are refused after 4 s without one.
      await Promise.all(
        visitors.flatMap((visitor = '', n) => [
          store(eventOf(visitor ?? '', `e${n}`, n + 10), eventOf(user, `u${n}`, 50)),
          identify(`v${n}`, 'u'),
        ]),
      )
      expect((await touchesOf(user))[0]).toBe('e0')
    })
  })

  it('is consistent after 200 identify calls and events of few visitors and users, many at a time', async () => {
    const { below: random, shuffled } = seededRandom()
    const identifies = Array.from({ length: 200 }, (_, n) =>
      record(`v${random(12)}`, `u${random(8)}`, { minute: random(50), traits: { [`t${random(20)}`]: n } }),
    )
    const people = () =>
      Array.from({ length: 40 }, () => ({
        projectId,
        visitorId: `v${random(14)}`,
        userId: random(2) === 0 ? null : `u${random(10)}`,
      }))
    let transactions = 0
    const counted: Pick<typeof db, 'transaction'> = {
      transaction: (run) => {
        transactions++
        return db.transaction(run)
      },
    }
    const calls = shuffled<() => Promise<unknown>>([
      ...identifies.map((one) => () => applyIdentify(counted, one)),
      ...Array.from({ length: 40 }, people).map((some) => () => resolveProfiles(db.pool, some)),
      ...Array.from({ length: 40 }, () => `v${random(14)}`).map(
        (visitor, n) => () => write('visitor', visitor, { [`w${n}`]: n }),
      ),
    ]).values()
    const callInTurn = async (): Promise<void> => {
      for (const call of calls) await call()
    }
    // As above, no more than there are connections.
    await Promise.all(Array.from({ length: 24 }, callInTurn))
    // No transaction was repeated because of a deadlock.
    expect(transactions).toBe(identifies.length)

    // A visitor belongs to the user of its last identify call, and each user has its own profile.
    const last = new Map<string, IdentifyRecord>()
    for (const one of identifies) {
      const other = last.get(one.visitorId)
      if (
        !other ||
        one.receivedAt > other.receivedAt ||
        (one.receivedAt === other.receivedAt && one.id > other.id)
      )
        last.set(one.visitorId, one)
    }
    for (const { visitorId, userId } of last.values()) {
      const profileId = await resolve(visitorId)
      expect(profileId).toBe(await resolve(null, userId))
      expect(await profileOf(profileId ?? '')).toMatchObject({ userId, mergedInto: null })
    }
    // Every trait of an identify call is at its user, with the last value.
    for (const userId of new Set(identifies.map((one) => one.userId))) {
      const expected: Record<string, unknown> = {}
      const own = identifies.filter((one) => one.userId === userId)
      own.sort((a, b) => a.receivedAt.localeCompare(b.receivedAt) || (a.id < b.id ? -1 : 1))
      for (const { traits } of own) Object.assign(expected, traits)
      expect(await traitsOf((await resolve(null, userId)) ?? '')).toMatchObject(expected)
    }
    // No identity belongs to a merged profile, and no merge leads to another.
    const { rows } = await db.pool.query(
      `SELECT i.value FROM ingest.identities i LEFT JOIN ingest.profiles p ON p.id = i.profile_id
       WHERE i.project_id = $1 AND (p.id IS NULL OR p.merged_into IS NOT NULL)
       UNION ALL SELECT p.id::text FROM ingest.profiles p JOIN ingest.profiles q ON q.id = p.merged_into
       WHERE p.project_id = $1 AND q.merged_into IS NOT NULL`,
      [projectId],
    )
    expect(rows).toEqual([])
  })

  describe('changes in one transaction', () => {
    const change = (more: Partial<PersonChange> = {}): PersonChange => ({
      id: uuidv7(),
      projectId,
      visitorId: null,
      userId: null,
      traits: {},
      receivedAt: at(0),
      verified: true,
      mustFit: true,
      ...more,
    })
    /** The people of a project, without the ids of their profiles. */
    const peopleOf = async (ofProject: string) => {
      const { rows } = await db.pool.query<{ id: string; value: string; person: object }>(
        `SELECT p.id, i.kind || ' ' || i.value AS value, jsonb_build_object('user', p.user_id, 'bucket', p.bucketing_id,
           'traits', p.traits, 'touched', p.first_touch, 'link', i.linked_at) AS person
         FROM ingest.identities i JOIN ingest.profiles p ON p.id = i.profile_id
         WHERE i.project_id = $1 AND p.merged_into IS NULL ORDER BY 2`,
        [ofProject],
      )
      const together = Map.groupBy(rows, ({ id }) => id)
      return rows.map(({ id, value, person }) => [value, person, together.get(id)?.map((row) => row.value)])
    }

    it('end as the same changes one after the other', async () => {
      const { below: random } = seededRandom()
      const other = uuidv7()
      const changes = Array.from({ length: 300 }, (_, n) => {
        const ids = { visitorId: `v${random(25)}`, userId: `u${random(15)}` }
        return change({
          ...[ids, { visitorId: ids.visitorId }, { userId: ids.userId }][random(3)],
          traits: { [`t${random(6)}`]: random(5) === 0 ? null : n, email: `${n}@example.com` },
          verified: random(2) === 0,
          receivedAt: at(random(3)),
        })
      })
      for (const one of changes) await changePeople(db, [{ ...one, projectId: other }])
      for (let start = 0; start < changes.length; ) {
        const some = changes.slice(start, start + 1 + random(60))
        const outcomes = await changePeople(db, some)
        expect(outcomes.map(({ is }) => is)).toEqual(some.map(() => 'applied'))
        start += some.length
      }
      expect(await peopleOf(projectId)).toEqual(await peopleOf(other))
    })

    it('are all made but those that are refused, which leave nothing', async () => {
      await write('user', 'full', { a: 'x'.repeat(65_536 - '{"a":""}'.length) })
      await db.pool.query(
        `INSERT INTO ingest.erasures (project_id, kind, hash, erased_at, successor)
         VALUES ($1::text::uuid, 'visitor', sha256(convert_to($1::text || ':visitor:gone', 'UTF8')), $2, gen_random_uuid())`,
        [projectId, at(5)],
      )
      const outcomes = await changePeople(db, [
        change({ visitorId: 'a', userId: 'one', traits: { n: 1 } }),
        change({ visitorId: 'gone', userId: 'two' }),
        change({ visitorId: 'b', userId: 'full', traits: { n: 2 } }),
        change({ userId: 'full', traits: { a: 1 } }),
        change({ visitorId: 'b', userId: 'full', traits: { n: 3 } }),
        change({ visitorId: 'gone', userId: 'three', receivedAt: at(6) }),
      ])
      expect(outcomes.map(({ is }) => is)).toEqual([
        'applied',
        'erased',
        'too_large',
        'applied',
        'applied',
        'applied',
      ])
      expect(await db.prisma.identity.count({ where: { projectId, value: 'two' } })).toBe(0)
      expect(await traitsOf((await resolve('b')) ?? '')).toEqual({ a: 1, n: 3 })
      expect(await resolve('gone')).toBe(await resolve(null, 'three'))
    })

    it('are none when there are none', async () => {
      expect(await changePeople(db, [])).toEqual([])
    })
  })
})
