import { randomUUID } from 'node:crypto'
import { createMemoryRateLimiter } from '@waymark/cache'
import { compileDecision, createDecisionSet, replayDecision, writeDecision } from '@waymark/domain/decision'
import { resolveProfiles, writeTraits } from '@waymark/pipeline'
import { anEnrichedEvent, services, withinOneDay } from '@waymark/testing'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, startWorld, type World } from './world.ts'

const HOUR_MS = 60 * 60 * 1_000
const DAY_MS = 24 * HOUR_MS

describe.skipIf(!services)('backtests', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const manage: World['manage'] = (...args) => world.manage(...args)
  const onOff = {
    variants: [
      { key: 'off', value: false },
      { key: 'on', value: true },
    ],
    fallbackVariant: 'off',
  }
  const create = async (more: Json = {}): Promise<string> => {
    const key = `d-${randomUUID()}`
    const { status, body } = await manage('POST', 'decisions', { key, ...onOff, rules: [], ...more })
    expect([status, body.errors]).toEqual([201, undefined])
    return key
  }
  const backtest = async (key: string, body: Json): Promise<Json> => {
    const reply = await manage('POST', `decisions/${key}/backtest`, { days: 7, ...body })
    expect([reply.status, reply.body.errors]).toEqual([200, undefined])
    return reply.body
  }
  /** Stores events of a new visitor, so many hours ago, and returns the id of the profile. */
  const visits = async (
    eventName: string,
    hoursAgo: number[],
    { visitorId = `v-${randomUUID()}`, properties = {} as Json } = {},
  ): Promise<string> => {
    const { db, eventStore } = world.platform
    const { projectId } = world
    const [profileId = null] = await resolveProfiles(db.pool, [{ projectId, visitorId, userId: null }])
    await eventStore.storeEvents(
      hoursAgo.map((hours) => {
        const at = new Date(Date.now() - hours * HOUR_MS).toISOString()
        const event = { visitorId, eventName, properties }
        return { ...anEnrichedEvent({ projectId, receivedAt: at, event }), timestamp: at, profileId }
      }),
    )
    return profileId ?? ''
  }
  const codes = (body: Json) => (body.unknown as Json[]).map(({ code }) => code)

  describe('of decisions', () => {
    it('replay events of the period, of a draft, and count those before', async () => {
      const eventName = `e-${randomUUID()}`
      const key = await create({
        rules: [{ condition: { '>=': [{ var: `counts.${eventName}.2d` }, 2] }, variant: 'on' }],
      })
      const often = await visits(eventName, [30, 20, 2])
      await visits(eventName, [500])
      await visits(eventName, [1])
      expect(await backtest(key, { days: 1, eventName })).toMatchObject({
        key,
        people: 2,
        replayed: 2,
        sampled: false,
        evaluations: 3,
        severalVariants: 0,
        capped: { people: 0, evaluations: 0 },
        variants: [
          { variant: 'off', people: 1, evaluations: 1 },
          { variant: 'on', people: 1, evaluations: 2, sample: [often], couponPoolId: null },
        ],
      })
    })

    it('replay a sample when there are more people than asked for', async () => {
      const [eventName, key] = [`e-${randomUUID()}`, await create()]
      for (let n = 0; n < 3; n++) await visits(eventName, [1])
      const body = { eventName, maxPeople: 2 }
      expect(await backtest(key, body)).toMatchObject({ people: 3, replayed: 2, sampled: true })
      expect(await backtest(key, { ...body, maxPeople: 3 })).toMatchObject({ replayed: 3, sampled: false })
    })

    it('say what they cannot know', async () => {
      const eventName = `e-${randomUUID()}`
      const profileId = await visits(eventName, [3])
      const other = await create({ status: 'active' })
      const later = new Date(Date.now() + DAY_MS).toISOString()
      const key = await create({
        bucketing: 'flagd',
        frequencyCap: { count: 1, windowSeconds: 60 },
        rules: [
          {
            id: 'r1',
            condition: { '==': [{ var: 'traits.plan' }, { var: 'context.plan' }] },
            prerequisites: [{ decision: other, variants: ['on'] }],
            ramp: [{ at: later, percentage: 50 }],
            variant: 'on',
          },
        ],
      })
      const all = ['requests', 'context', 'ramp', 'references', 'bucketing', 'frequency_cap', 'people']
      expect(codes(await backtest(key, { eventName }))).toEqual(all)
      const person = await world.platform.db.pool.query<{ bucketing_id: string }>(
        'SELECT bucketing_id FROM ingest.profiles WHERE id = $1',
        [profileId],
      )
      await writeTraits(world.platform.db, {
        person: { projectId: world.projectId, kind: 'visitor', value: person.rows[0]?.bucketing_id ?? '' },
        id: randomUUID(),
        receivedAt: new Date().toISOString(),
        traits: { plan: 'pro' },
        verified: true,
      })
      const { unknown } = await backtest(key, { eventName, context: { plan: 'pro' } })
      expect(unknown).toMatchObject([
        { code: 'traits', people: 1 },
        ...all.slice(0, 1).map((code) => ({ code })),
        {},
        {},
        {},
        {},
        {},
      ])
      expect(codes({ unknown })).not.toContain('context')
    })

    it('keep to the frequency cap as live decisions do', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 30 }),
          fc.record({ count: fc.integer({ min: 1, max: 3 }), windowSeconds: fc.integer({ min: 1, max: 3 }) }),
          async (gaps, frequencyCap) => {
            let now = 0
            const limiter = createMemoryRateLimiter({ now: () => now })
            const times = gaps.map((gap) => {
              now += gap
              return now
            })
            const expected: boolean[] = []
            for (const time of times) {
              now = time
              const { allowed } = await limiter.consume({
                bucket: 'b',
                key: 'k',
                limit: frequencyCap.count,
                windowMs: frequencyCap.windowSeconds * 1_000,
              })
              expected.push(!allowed)
            }
            const ids = { newRuleId: () => 'r', newSalt: () => 's' }
            const definition = writeDecision(
              { ...onOff, frequencyCap, rules: [{ variant: 'on' }] },
              null,
              ids,
            )
            const decision = {
              id: 'd',
              projectId: 'p',
              key: 'd',
              status: 'draft' as const,
              version: 1,
              definition,
              states: null,
            }
            const compiled = compileDecision(decision)
            const replayed = replayDecision(
              {
                projectId: 'p',
                decisions: createDecisionSet([decision], () => compiled),
                compiled,
                counts: [],
                countedEvents: new Set(),
                context: {},
                decidesAt: () => true,
              },
              { subject: 's', traits: {}, events: times.map((at) => ({ at, eventName: 'e', bot: false })) },
            )
            expect([...replayed].map(({ capped }) => capped)).toEqual(expected)
          },
        ),
      )
    })

    it.each<[string, Json, number]>([
      ['0 days', { days: 0 }, 422],
      ['90 days', { days: 90 }, 200],
      ['91 days', { days: 91 }, 422],
      ['10,000 people', { maxPeople: 10_000 }, 200],
      ['10,001 people', { maxPeople: 10_001 }, 422],
      ['a definition that cannot be used', { definition: { ...onOff, rules: [{ variant: 'none' }] } }, 422],
      ['an environment that there is not', { environment: 'no-such' }, 422],
    ])('with %s answer by the limits', async (_what, body, status) => {
      const key = await create()
      expect((await manage('POST', `decisions/${key}/backtest`, { days: 1, ...body })).status).toBe(status)
    })

    it('of a decision that does not exist answer 404', async () => {
      expect((await manage('POST', 'decisions/no-such/backtest', { days: 1 })).status).toBe(404)
    })
  })

  describe('of email triggers', () => {
    const create = async (more: Json = {}): Promise<string> => {
      const templates = { subject: 'Hello', html: '<p>Hello</p>' }
      const trigger = { name: 'T', eventName: `e-${randomUUID()}`, ...templates, ...more }
      const { status, body } = await manage('POST', 'email-triggers', trigger)
      expect(status).toBe(201)
      return String(body.id)
    }

    it('replay a draft on events before it, and name the busiest hour and newer addresses', async () => {
      const eventName = `e-${randomUUID()}`
      const id = await create({ eventName, cooldownSeconds: 3 * 3_600 })
      const visitorId = `v-${randomUUID()}`
      const profileId = await visits(eventName, [30, 5, 3, 1], { visitorId })
      await visits(eventName, [2])
      const replay = async (more: Json = {}) => {
        const { status, body } = await manage('POST', `email-triggers/${id}/backtest`, { days: 1, ...more })
        expect(status).toBe(200)
        return body
      }
      expect(await replay()).toMatchObject({ events: 4, fired: 4, emails: 0, noEmail: 4, busiestHour: null })
      await writeTraits(world.platform.db, {
        person: { projectId: world.projectId, kind: 'visitor', value: visitorId },
        id: randomUUID(),
        receivedAt: new Date().toISOString(),
        traits: { email: 'ann@example.com' },
        verified: true,
      })
      const replayed = await replay()
      expect(replayed).toMatchObject({
        triggerId: id,
        events: 4,
        sampled: false,
        fired: 4,
        emails: 2,
        noEmail: 1,
        suppressed: 0,
        cooldown: 1,
        people: 1,
        busiestHour: { emails: 1 },
        sample: [profileId],
      })
      expect(replayed.unknown).toContainEqual(expect.objectContaining({ code: 'traits', people: 1 }))
      expect(await replay({ eventName: `none-${randomUUID()}` })).toMatchObject({ events: 0, fired: 0 })
      expect(await replay({ days: 2 })).toMatchObject({ events: 5, emails: 3, cooldown: 1 })
    })

    it.each<[string, Json, number]>([
      ['91 days', { days: 91 }, 422],
      ['a filter that cannot be used', { filter: { explode: [] } }, 422],
      ['no filter', { filter: null }, 200],
    ])('with %s answer by the limits', async (_what, body, status) => {
      const path = `email-triggers/${await create()}/backtest`
      expect((await manage('POST', path, { days: 1, ...body })).status).toBe(status)
    })
  })

  describe('of coupon pools', () => {
    const create = async (more: Json = {}): Promise<string> => {
      const pool = { name: 'P', kind: 'automatic', discount: { type: 'percent', value: 10 }, ...more }
      const { status, body } = await manage('POST', 'coupon-pools', pool)
      expect([status, body.errors]).toEqual([201, undefined])
      return String(body.id)
    }
    const cart = { currency: 'EUR', items: [{ sku: 'a', quantity: 1, unitAmount: 1_000, name: 'Shirt' }] }

    it('read carts from properties, apply rules about the person at that time, and count what is no cart', async () => {
      const eventName = `order-${randomUUID()}`
      const { db } = world.platform
      const { projectId } = world
      const first = await visits(eventName, [5], { properties: cart })
      await visits(eventName, [4, 3], { properties: { ...cart, currency: 'USD' } })
      await visits(eventName, [2], { properties: { ...cart, items: [{ sku: 'a' }] } })
      await visits(eventName, [1], { properties: { currency: 'EUR' } })
      const id = await create()
      const replay = async (more: Json = {}) => {
        const { status, body } = await manage('POST', `coupon-pools/${id}/backtest`, {
          days: 1,
          eventName,
          ...more,
        })
        expect([status, body.errors]).toEqual([200, undefined])
        return body
      }
      const all = await replay()
      expect(all).toMatchObject({
        events: 5,
        sampled: false,
        unreadable: 2,
        granted: 3,
        people: 2,
        refusals: [],
      })
      expect(all.discounts).toEqual(
        expect.arrayContaining([
          { currency: 'EUR', discountAmount: 100 },
          { currency: 'USD', discountAmount: 200 },
        ]),
      )
      const ordered = (hoursAgo: number) =>
        db.pool.query(
          `INSERT INTO ingest.conversions (project_id, event_key, selector_id, event_id, event_name, amount, currency,
             profile_id, attribution, occurred_at, received_at)
           VALUES ($1, $2, $2, 'e', 'order', 1, 'EUR', $3, '{}', $4, $4)`,
          [projectId, randomUUID(), first, new Date(Date.now() - hoursAgo * HOUR_MS)],
        )
      const rules = { firstOrderOnly: true }
      await ordered(4)
      expect(await replay({ rules })).toMatchObject({ granted: 3 })
      await ordered(6)
      expect(await replay({ rules })).toMatchObject({
        granted: 2,
        refusals: [{ reason: 'not_first_order', carts: 1 }],
      })
      expect(await replay({ itemsProperty: 'lines' })).toMatchObject({
        unreadable: 5,
        granted: 0,
        discounts: [],
      })
      const condition = { '==': [{ var: 'traits.plan' }, 'pro'] }
      expect(await replay({ rules: { condition } })).toMatchObject({
        granted: 0,
        refusals: [{ reason: 'condition_not_met', carts: 3 }],
      })
    })

    it.each<[string, Json, number]>([
      ['a discount that cannot be stored', { discount: { type: 'percent', value: 101 } }, 422],
      ['an unknown segment', { rules: { condition: { segment: 'no-such' } } }, 422],
      ['91 days', { days: 91 }, 422],
    ])('with %s answer by the limits', async (_what, body, status) => {
      const path = `coupon-pools/${await create()}/backtest`
      expect((await manage('POST', path, { days: 1, eventName: 'e', ...body })).status).toBe(status)
    })
  })

  describe('of segments', () => {
    it('count the people at the end of each day, by a condition in place of the stored one', async () => {
      const key = `s-${randomUUID()}`
      const counted = await withinOneDay(async () => {
        const eventName = `e-${randomUUID()}`
        const counting = (value: number) => ({ counts: [{ eventName, days: 2, op: 'gte', value }] })
        await manage('POST', 'segments', { key, name: 'S', condition: counting(2) })
        await manage('PATCH', `segments/${key}`, { condition: counting(2) })
        // At noon (UTC) of the days before today.
        const hoursOfToday = (Date.now() % DAY_MS) / HOUR_MS
        const daysAgo = (days: number) => hoursOfToday + 24 * days - 12
        await visits(eventName, [daysAgo(3), daysAgo(2)])
        await visits(eventName, [daysAgo(1)])
        const replay = async (body: Json) => {
          const reply = await manage('POST', `segments/${key}/backtest`, body)
          expect([reply.status, reply.body.errors]).toEqual([200, undefined])
          return (reply.body.days as { people: number }[]).map(({ people }) => people)
        }
        return {
          stored: await replay({ days: 5 }),
          other: await replay({ days: 5, condition: counting(1) }),
        }
      })
      expect(counted).toEqual({ stored: [0, 0, 1, 0, 0], other: [0, 1, 1, 2, 1] })
      for (const [days, status] of [
        [14, 200],
        [15, 422],
      ])
        expect((await manage('POST', `segments/${key}/backtest`, { days })).status).toBe(status)
      expect((await manage('POST', 'segments/no-such/backtest', { days: 1 })).status).toBe(404)
    })
  })
})
