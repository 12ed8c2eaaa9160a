import { randomUUID } from 'node:crypto'
import type { SegmentCondition } from '@waymark/contracts/http/segments'
import { compileSegment, isInSegment } from '@waymark/domain/decision'
import {
  applyIdentify,
  createCompleteCounts,
  createEventWriter,
  findPeople,
  resolveProfiles,
} from '@waymark/pipeline'
import { anEnrichedEvent, services, withinOneDay } from '@waymark/testing'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, startWorld, type World } from './world.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const isPro = { property: 'traits.plan', op: 'eq', value: 'pro' }
const condition = { filters: [isPro] }

describe.skipIf(!services)('segments', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const manage: World['manage'] = (...args) => world.manage(...args)
  const create = async (more: Json = {}): Promise<string> => {
    const body = { key: `s-${randomUUID()}`, name: 'Pros', condition, ...more }
    const answer = await manage('POST', 'segments', body)
    expect([answer.status, answer.body.errors]).toEqual([201, undefined])
    return body.key
  }
  const aDecision = (segment: string, more: Json = {}) => ({
    key: `d-${randomUUID()}`,
    variants: [
      { key: 'off', value: false },
      { key: 'on', value: true },
    ],
    fallbackVariant: 'off',
    rules: [{ condition: { and: [{ segment }, { '!': [{ var: 'context.no' }] }] }, variant: 'on' }],
    ...more,
  })

  const countEarlierEvents = async (): Promise<void> => {
    const next = createCompleteCounts({
      db: world.platform.db,
      eventStore: world.platform.eventStore,
      now: Date.now,
      settledSeconds: 0,
    })
    while ((await next(new AbortController().signal)) > 0);
  }

  it('are created, listed, read, changed and deleted', async () => {
    const key = await create()
    const read = await manage('GET', `segments/${key}`)
    expect(read.body).toMatchObject({ key, name: 'Pros', condition, countsComplete: true })
    expect((await manage('GET', 'segments?limit=1')).body.data).toEqual([read.body])
    const other = { counts: [{ eventName: `e-${key}`, days: 1, op: 'gte', value: 1 }] }
    const changed = await manage('PATCH', `segments/${key}`, { condition: other }, { 'If-Match': read.etag })
    expect(changed).toMatchObject({
      status: 200,
      body: { name: 'Pros', condition: other, countsComplete: false },
    })
    const stale = { 'If-Match': read.etag }
    expect((await manage('PATCH', `segments/${key}`, { name: 'Old' }, stale)).status).toBe(412)
    expect((await manage('DELETE', `segments/${key}`, undefined, stale)).status).toBe(412)
    expect((await manage('PATCH', `segments/${key}`, { name: 'New' })).body).toMatchObject({ name: 'New' })
    expect((await manage('DELETE', `segments/${key}`)).status).toBe(204)
    for (const [method, body] of [['GET'], ['PATCH', { name: 'a' }], ['DELETE']] as const)
      expect((await manage(method, `segments/${key}`, body)).status).toBe(404)
  })

  it('keep their ETag while earlier events are counted', async () => {
    const key = await create({
      condition: { counts: [{ eventName: `e-${randomUUID()}`, days: 90, op: 'gt', value: 0 }] },
    })
    const before = await manage('GET', `segments/${key}`)
    await countEarlierEvents()
    const after = await manage('GET', `segments/${key}`)
    expect([before.body.countsComplete, after.body.countsComplete]).toEqual([false, true])
    expect(after.etag).toBe(before.etag)
  })

  it('have the events counted that a segment names, and no others', async () => {
    const events = async (): Promise<string[]> => {
      const { rows } = await world.platform.db.pool.query<{ event: string }>(
        'SELECT event FROM decision.counted_events WHERE project_id = $1',
        [world.projectId],
      )
      return rows.map(({ event }) => event)
    }
    const [one, two] = [`one-${randomUUID()}`, `two-${randomUUID()}`]
    const counting = (...names: string[]) => ({
      counts: names.map((eventName) => ({ eventName, days: 7, op: 'eq', value: 0 })),
    })
    const key = await create({ condition: counting(one, two) })
    const other = await create({ condition: counting(two) })
    expect(await events()).toEqual(expect.arrayContaining([one, two]))
    await manage('PATCH', `segments/${key}`, { condition })
    expect(await events()).toContain(two)
    expect(await events()).not.toContain(one)
    await manage('DELETE', `segments/${other}`)
    expect(await events()).not.toContain(two)
  })

  const count = (change: Json = {}) => ({ eventName: 'order', days: 1, op: 'gte', value: 0, ...change })
  it.each<[string, Json, string | undefined]>([
    ['a key twice', { key: 'taken' }, 'key'],
    ['a key with a colon', { key: 'a:b' }, 'key'],
    ['a blank name', { name: ' ' }, 'name'],
    ['an empty condition', { condition: {} }, 'condition'],
    ['another match', { condition: { match: 'some', filters: [isPro] } }, 'condition.match'],
    [
      'a property of events',
      { condition: { filters: [{ ...isPro, property: 'properties.a' }] } },
      'condition.filters.0.property',
    ],
    [
      'a filter without its value',
      { condition: { filters: [isPro, { property: 'traits.a', op: 'eq' }] } },
      'condition.filters.1.value',
    ],
    ['a segment within it', { condition: { segment: 'taken' } }, 'condition.segment'],
    ['0 days', { condition: { counts: [count({ days: 0 })] } }, 'condition.counts.0.days'],
    ['1 day', { condition: { counts: [count()] } }, undefined],
    ['90 days', { condition: { counts: [count({ days: 90 })] } }, undefined],
    ['91 days', { condition: { counts: [count({ days: 91 })] } }, 'condition.counts.0.days'],
    ['a negative value', { condition: { counts: [count({ value: -1 })] } }, 'condition.counts.0.value'],
    ['the greatest value', { condition: { counts: [count({ value: 1_000_000 })] } }, undefined],
    ['a greater value', { condition: { counts: [count({ value: 1_000_001 })] } }, 'condition.counts.0.value'],
    ['another comparison', { condition: { counts: [count({ op: 'neq' })] } }, 'condition.counts.0.op'],
    ['10 counts', { condition: { counts: Array.from({ length: 10 }, () => count()) } }, undefined],
    ['11 counts', { condition: { counts: Array.from({ length: 11 }, () => count()) } }, 'condition.counts'],
    ['10 filters', { condition: { filters: Array.from({ length: 10 }, () => isPro) } }, undefined],
    ['11 filters', { condition: { filters: Array.from({ length: 11 }, () => isPro) } }, 'condition.filters'],
  ])('with %s name the field, or are created', async (_what, change, field) => {
    await manage('POST', 'segments', { key: 'taken', name: 'Taken', condition })
    const { status, body } = await manage('POST', 'segments', {
      key: `k-${randomUUID()}`,
      name: 'N',
      condition,
      ...change,
    })
    const fields = ((body.errors ?? []) as Json[]).map((one) => one.field)
    expect([status, fields]).toEqual(field === undefined ? [201, []] : [422, [field]])
  })

  it('that a rule uses cannot be deleted, and rules cannot use unknown ones', async () => {
    const key = await create()
    const refused = await manage('POST', 'decisions', aDecision('no-such'))
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [
        expect.objectContaining({
          field: 'rules.0.condition',
          rule: 'exists',
          message: expect.stringContaining('no-such'),
        }),
      ],
    ])
    const decision = aDecision(key)
    expect((await manage('POST', 'decisions', decision)).status).toBe(201)
    const kept = await manage('DELETE', `segments/${key}`)
    expect([kept.status, kept.body]).toMatchObject([409, { decisions: [decision.key] }])
    expect(kept.body.error).toContain(decision.key)
    expect((await manage('POST', `decisions/${decision.key}/archive`)).status).toBe(200)
    expect((await manage('DELETE', `segments/${key}`)).status).toBe(204)
  })

  it('that a coupon pool uses cannot be deleted, and pools cannot use unknown ones', async () => {
    const key = await create()
    const discount = { type: 'percent', value: 10 }
    const poolFor = (segment: string) => ({
      name: `For ${segment}`,
      kind: 'automatic',
      discount,
      rules: { condition: { segment } },
    })
    const refused = await manage('POST', 'coupon-pools', poolFor('no-such'))
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [expect.objectContaining({ field: 'rules.condition', message: expect.stringContaining('no-such') })],
    ])
    const pool = await manage('POST', 'coupon-pools', poolFor(key))
    expect(pool.status).toBe(201)
    const path = `coupon-pools/${pool.body.id}`
    expect((await manage('PATCH', path, { rules: { condition: { segment: 'no-such' } } })).status).toBe(422)
    const cart = { currency: 'EUR', items: [{ sku: 'a', quantity: 1, unitAmount: 100 }] }
    expect((await manage('POST', `${path}/preview`, { ...cart, userId: 'nobody' })).body).toMatchObject({
      reason: 'condition_not_met',
    })
    const kept = await manage('DELETE', `segments/${key}`)
    expect([kept.status, kept.body]).toMatchObject([409, { decisions: [], couponPools: [`For ${key}`] }])
    expect((await manage('DELETE', path)).status).toBe(204)
    expect((await manage('DELETE', `segments/${key}`)).status).toBe(204)
  })

  it('are shown by the preview of a decision', async () => {
    const key = await create()
    const decision = aDecision(key)
    await manage('POST', 'decisions', decision)
    const preview = (plan: string) =>
      manage('POST', `decisions/${decision.key}/preview`, { visitorId: 'v', traits: { plan } })
    expect((await preview('pro')).body).toMatchObject({
      ifActive: { variant: 'on' },
      segments: { [key]: true },
    })
    expect((await preview('free')).body).toMatchObject({
      ifActive: { variant: 'off' },
      segments: { [key]: false },
    })
  })

  it('of the preview have the people for whom decisions evaluate the condition as true', async () => {
    const { db, eventStore, projectConfigs, configChanges } = world.platform
    const { projectId } = world
    const names = ['order', 'view']
    // Counted from the creation of a segment on, and later those from before.
    const write = createEventWriter({ db, eventStore, projectConfigs })
    const visitors = Array.from({ length: 24 }, (_, n) => `person-${n}`)
    const eventsOf = async (visitorId: string, n: number, counted: number) => {
      const [profileId = null] = await resolveProfiles(db.pool, [{ projectId, visitorId, userId: null }])
      return Array.from({ length: counted }, (_, m) => {
        const at = new Date(Date.now() - ((n * 7 + m * 3) % 12) * DAY_MS).toISOString()
        const event = { visitorId, eventName: names[(n + m) % 2] ?? '', clientTimestamp: at }
        return { ...anEnrichedEvent({ projectId, receivedAt: at, event }), timestamp: at, profileId }
      })
    }
    for (const [n, visitorId] of visitors.entries()) {
      if (n % 4 !== 3) await write(await eventsOf(visitorId, n, n % 5))
      if (n % 3 === 0) continue
      const traits = { plan: ['pro', 'free', 3][n % 3 === 1 ? 0 : n % 2 === 0 ? 1 : 2], score: n }
      // Some visitors are of one user.
      const userId = n % 5 === 0 ? 'shared-user' : n % 2 === 0 ? `user-${n}` : null
      const kind = { v: 1 as const, kind: 'identify' as const, id: randomUUID(), projectId }
      await applyIdentify(db, {
        ...kind,
        receivedAt: new Date().toISOString(),
        visitorId,
        userId,
        traits,
      } as never)
    }
    await create({ condition: { counts: names.map((eventName) => count({ eventName })) } })
    await configChanges.refresh()
    for (const [n, visitorId] of visitors.entries()) await write(await eventsOf(visitorId, n + 1, n % 3))
    await countEarlierEvents()
    const { rows } = await db.pool.query(
      'SELECT id, merged_into, traits, version FROM ingest.profiles WHERE project_id = $1',
      [projectId],
    )
    await eventStore.storeProfiles(
      rows.map(({ id, merged_into, traits, version }) => ({
        projectId,
        profileId: id,
        mergedInto: merged_into,
        traits,
        version: Number(version),
      })),
    )

    const wanted = visitors.map((value) => ({
      projectId,
      kind: 'visitor' as const,
      value,
      countedEvents: new Set(names),
    }))
    const people = new Map(
      (await findPeople(db.pool, wanted)).flatMap((one) => (one ? [[one.profileId, one] as const] : [])),
    )
    const membersOf = (of: SegmentCondition) => {
      const segment = compileSegment({ condition: of })
      const today = Date.now()
      return [...people.values()].filter(({ traits, counts }) =>
        isInSegment(segment, {
          traits,
          countOf: (eventName, days) => {
            const first = new Date(today - (days - 1) * DAY_MS).toISOString().slice(0, 10)
            return counts.reduce((n, one) => (one.event === eventName && one.day >= first ? n + one.n : n), 0)
          },
        }),
      )
    }
    const operator = fc.constantFrom(
      'eq' as const,
      'gt' as const,
      'gte' as const,
      'lt' as const,
      'lte' as const,
    )
    const conditions: fc.Arbitrary<SegmentCondition> = fc
      .record({
        match: fc.constantFrom('all' as const, 'any' as const),
        filters: fc.array(
          fc.oneof(
            fc.record({
              property: fc.constantFrom('traits.plan', 'traits.score', 'traits.none'),
              op: fc.constantFrom('eq' as const, 'neq' as const, 'gt' as const, 'lte' as const),
              value: fc.constantFrom<string | number>('pro', 'free', 3, 10),
            }),
            fc.record({
              property: fc.constant('traits.plan'),
              op: fc.constantFrom('exists' as const, 'not_exists' as const),
            }),
          ),
          { maxLength: 2 },
        ),
        counts: fc.array(
          fc.record({
            eventName: fc.constantFrom(...names),
            days: fc.integer({ min: 1, max: 14 }),
            op: operator,
            value: fc.integer({ min: 0, max: 4 }),
          }),
          { maxLength: 2 },
        ),
      })
      .filter(({ filters, counts }) => filters.length + counts.length > 0)
    await fc.assert(
      fc.asyncProperty(conditions, async (of) => {
        const { status, body, members } = await withinOneDay(async () => ({
          ...(await manage('POST', 'segments/preview', { condition: of })),
          members: membersOf(of),
        }))
        expect([status, body.people]).toEqual([200, members.length])
        const sample = body.sample as { id: string }[]
        expect(sample).toHaveLength(Math.min(5, members.length))
        for (const { id } of sample) expect(members.map(({ profileId }) => profileId)).toContain(id)
      }),
      { numRuns: 60, endOnFailure: true },
    )
    // Visitors of one user are one person.
    expect(people.size).toBeLessThan(visitors.length)
  })

  it('refuse a preview of an unusable condition, and name the field', async () => {
    const { status, body } = await manage('POST', 'segments/preview', { condition: {} })
    expect([status, body.errors]).toMatchObject([422, [{ field: 'condition' }]])
  })
})
