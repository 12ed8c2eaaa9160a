import { randomUUID } from 'node:crypto'
import type { DecisionResults } from '@waymark/contracts/http/decisions'
import { applyIdentify, createEventWriter, resolveProfiles, storeExposures } from '@waymark/pipeline'
import { anEnrichedEvent, eventually, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, startWorld, type World } from './world.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
/** Days from 10 days ago. */
const onDay = (day: number): string => new Date(START + day * DAY_MS).toISOString()
const START = Date.now() - 10 * DAY_MS

describe.skipIf(!services)('the results of a decision', () => {
  let world: World
  let selectorId: string
  beforeAll(async () => {
    world = await startWorld()
    const { body } = await world.manage('POST', 'metering-selectors', {
      eventName: 'order',
      amountProperty: 'total',
      currencyProperty: 'currency',
    })
    selectorId = String(body.id)
  })
  afterAll(() => world?.stop())

  const split = [
    { variant: 'off', weight: 1 },
    { variant: 'on', weight: 1 },
  ]
  const aDecision = (more: Json = {}) => ({
    key: `d-${randomUUID()}`,
    status: 'active',
    variants: [
      { key: 'off', value: false },
      { key: 'on', value: true },
    ],
    fallbackVariant: 'off',
    rules: [{ id: 'halves', split }],
    ...more,
  })
  const create = async (more: Json): Promise<{ id: string; key: string }> => {
    const { status, body } = await world.manage('POST', 'decisions', aDecision(more))
    expect([status, body.errors]).toEqual([201, undefined])
    return body as { id: string; key: string }
  }
  const profileOf = async (visitorId: string): Promise<string> => {
    const person = { projectId: world.projectId, visitorId, userId: null }
    const [id] = await resolveProfiles(world.platform.db.pool, [person])
    if (!id) throw new Error('no profile')
    return id
  }
  const expose = async (
    decision: { id: string; key: string },
    variant: string,
    visitorId: string,
    day: number,
    more: { reason?: string; ruleId?: string | null; version?: number } = {},
  ) => {
    const about = {
      v: 1 as const,
      projectId: world.projectId,
      decisionId: decision.id,
      decisionKey: decision.key,
    }
    const rule = { version: 1, reason: 'SPLIT', ruleId: 'halves', ...more }
    const person = { subject: visitorId, visitorId, userId: null, profileId: await profileOf(visitorId) }
    await storeExposures(world.platform.db.pool, [
      { ...about, ...rule, ...person, variant, exposedAt: onDay(day) },
    ])
  }
  const order = async (visitorId: string, day: number, total: unknown, eventName = 'order') => {
    const { db, eventStore, projectConfigs } = world.platform
    const writeEvents = createEventWriter({
      db,
      eventStore,
      projectConfigs,
    })
    const conversions =
      eventName === 'order' && typeof total === 'number'
        ? [{ selectorId, amount: total, currency: 'EUR', quantity: 2 }]
        : []
    const event = { eventName, visitorId, properties: { cart: { total } } }
    const enriched = anEnrichedEvent({
      projectId: world.projectId,
      conversions,
      event,
      receivedAt: onDay(day),
    })
    await writeEvents([{ ...enriched, profileId: await profileOf(visitorId) }])
  }
  const identify = (visitorId: string, userId: string) =>
    applyIdentify(world.platform.db, {
      v: 1,
      kind: 'identify',
      projectId: world.projectId,
      id: uuidv7(),
      visitorId,
      userId,
      traits: {},
      unset: [],
      receivedAt: new Date().toISOString(),
    } as unknown as Parameters<typeof applyIdentify>[1])
  const resultsOf = async (key: string, query = ''): Promise<DecisionResults> => {
    const { status, body } = await world.manage('GET', `decisions/${key}/results${query}`)
    expect(status).toBe(200)
    return body as DecisionResults
  }
  const valuesOf = ({ metrics }: DecisionResults) =>
    Object.fromEntries(
      metrics.map(({ key, variants }) => [
        key,
        variants.map(({ variant, people, value }) => [variant, people, value]),
      ]),
    )

  it('count each person once, for the first variant and with what happened after it', async () => {
    const eventName = 'order'
    const property = 'properties.cart.total'
    const decision = await create({
      metrics: [
        { key: 'bought', eventName, kind: 'count', goal: 'up' },
        { key: 'orders', eventName, kind: 'sum', goal: 'up' },
        { key: 'revenue', eventName, property, kind: 'sum', goal: 'up' },
        { key: 'basket', eventName, property, kind: 'mean', goal: 'up' },
        { key: 'converted', selectorId, kind: 'count', goal: 'up' },
        { key: 'amount', selectorId, kind: 'sum', goal: 'up' },
        { key: 'pieces', selectorId, property: 'quantity', kind: 'mean', goal: 'up', guardrail: true },
      ],
    })
    const [a, b, c, d, phone] = Array.from({ length: 5 }, () => `v-${randomUUID()}`) as [
      string,
      string,
      string,
      string,
      string,
    ]
    await expose(decision, 'off', a, 1)
    await order(a, 0, 1_000)
    await order(a, 2, 10)
    await order(a, 3, 20)
    await expose(decision, 'off', b, 1)
    // First on and then off: counts as on.
    await expose(decision, 'on', c, 1)
    await expose(decision, 'off', c, 2)
    await order(c, 3, 30)
    // One person on two devices, who has seen it on the phone first.
    await expose(decision, 'on', d, 4)
    await expose(decision, 'on', phone, 2)
    await identify(d, `u-${d}`)
    await identify(phone, `u-${d}`)
    await order(d, 3, 12)
    // Neither a number nor of this event.
    await order(d, 5, 'much')
    await order(d, 5, 99, 'other')
    // A rule that names one variant is no experiment.
    await expose(decision, 'on', `v-${randomUUID()}`, 1, { reason: 'TARGETING_MATCH' })

    const results = await resultsOf(decision.key)
    expect(valuesOf(results)).toEqual({
      bought: [
        ['off', 2, 0.5],
        ['on', 2, 1],
      ],
      orders: [
        ['off', 2, 1],
        ['on', 2, 1.5],
      ],
      revenue: [
        ['off', 2, 15],
        ['on', 2, 21],
      ],
      basket: [
        ['off', 1, 15],
        ['on', 2, 21],
      ],
      converted: [
        ['off', 2, 0.5],
        ['on', 2, 1],
      ],
      amount: [
        ['off', 2, 15],
        ['on', 2, 21],
      ],
      pieces: [
        ['off', 1, 2],
        ['on', 2, 2],
      ],
    })
    const currencies = results.metrics.map(({ key, currency }) => [key, currency])
    expect(Object.fromEntries(currencies)).toMatchObject({
      revenue: null,
      converted: null,
      amount: 'EUR',
      pieces: null,
    })
    expect(results).toMatchObject({
      key: decision.key,
      control: 'off',
      sampleRatio: { expected: { off: 2, on: 2 }, seen: { off: 2, on: 2 }, pValue: 1 },
    })
    const codes = results.warnings.map(({ code }) => code)
    expect(codes).toEqual(['several_variants', 'too_few_people', 'several_comparisons'])

    // An erased person leaves the results.
    const erased = await world.manage('DELETE', `profiles/${await profileOf(c)}`)
    expect(erased.status).toBe(202)
    expect(valuesOf(await resultsOf(decision.key)).revenue).toEqual([
      ['off', 2, 15],
      ['on', 1, 12],
    ])
  })

  it('are adjusted by what people did in the 14 days before', async () => {
    const decision = await create({
      metrics: [
        { key: 'revenue', eventName: 'order', property: 'properties.cart.total', kind: 'sum', goal: 'up' },
      ],
    })
    // Each pays after it what they had paid before, and 10 more with the variant on.
    for (const [variant, before, after] of [
      ['off', 100, 100],
      ['off', 200, 200],
      ['off', 330, 330],
      ['on', 100, 110],
      ['on', 200, 210],
      ['on', 300, 310],
    ] as const) {
      const visitorId = `v-${randomUUID()}`
      await order(visitorId, 5, before)
      await expose(decision, variant, visitorId, 6)
      await order(visitorId, 7, after)
    }
    const { metrics } = await resultsOf(decision.key)
    const [off, on] = metrics[0]?.variants ?? []
    expect(metrics[0]?.varianceReduction).toBeCloseTo(1, 10)
    expect([off?.value, on?.value]).toEqual([210, 210])
    // Without the adjustment the lift would be 0. The mean of the past is 205, so the adjusted means are 205 and 215.
    expect(on?.lift).toBeCloseTo(10 / 205, 8)
  })

  it('can be asked for as they were at earlier times', async () => {
    const decision = await create({
      metrics: [{ key: 'bought', eventName: 'order', kind: 'count', goal: 'up' }],
    })
    const people = Array.from({ length: 8 }, (_, n) => [n % 2 ? 'on' : 'off', `v-${randomUUID()}`] as const)
    for (const [index, [variant, visitorId]] of people.entries()) {
      await expose(decision, variant, visitorId, index < 4 ? 0 : 8)
      await order(visitorId, index === 0 ? 1 : 9, 10)
    }
    expect((await resultsOf(decision.key)).metrics[0]).not.toHaveProperty('history')
    const { metrics } = await resultsOf(decision.key, '?history=true')
    const history = metrics[0]?.history ?? []
    expect(history).toHaveLength(14)
    // 14 parts of 10 days.
    const daysOf = (at: string) => (Date.parse(at) - START) / DAY_MS
    expect(history.map(({ at }) => Math.round(daysOf(at) * 1.4))).toEqual(
      Array.from({ length: 14 }, (_, n) => n + 1),
    )
    const counted = history.map(({ variants }) => variants.map((one) => one.people))
    expect(counted[0]).toEqual([2, 2])
    expect(counted.at(-1)).toEqual([4, 4])
    // Only a person with the variant off has ordered by then, so the lift is -100 %.
    expect(history[4]?.variants[1]?.lift).toBe(-1)
    expect(history.at(-1)?.variants[1]?.lift).toBe(metrics[0]?.variants[1]?.lift)
  })

  it('take values of any size that JSON has', async () => {
    const metric = { eventName: 'sized', property: 'properties.cart.total', goal: 'up' }
    const decision = await create({
      metrics: [
        { ...metric, kind: 'sum' },
        { ...metric, kind: 'mean' },
      ],
    })
    const visitorId = `v-${randomUUID()}`
    await expose(decision, 'off', visitorId, 1)
    for (const total of [1e15, 2e15, 1e300, -1e300, 1e-200, 5e-324, 0])
      await order(visitorId, 2, total, 'sized')
    // Its square is too small for a number.
    const other = `v-${randomUUID()}`
    await expose(decision, 'on', other, 1)
    await order(other, 2, 1e-200, 'sized')
    expect(valuesOf(await resultsOf(decision.key))['sized.sum']).toEqual([
      ['off', 1, 1e15],
      ['on', 1, 0],
    ])
  })

  it('compare each person with the weights of the version that split them', async () => {
    const decision = await create({})
    const weighted = [
      { variant: 'off', weight: 3 },
      { variant: 'on', weight: 1 },
    ]
    const changed = await world.manage('PATCH', `decisions/${decision.key}`, {
      rules: [{ id: 'halves', split: weighted }],
    })
    expect(changed.body.version).toBe(2)
    for (const [variant, version] of [
      ['off', 1],
      ['on', 1],
      ['off', 2],
      ['off', 2],
      ['off', 2],
      ['on', 2],
    ] as const)
      await expose(decision, variant, `v-${randomUUID()}`, 1, { version })
    const { sampleRatio, warnings, metrics } = await resultsOf(decision.key)
    expect(metrics).toEqual([])
    expect(sampleRatio).toEqual({ expected: { off: 4, on: 2 }, seen: { off: 4, on: 2 }, pValue: 1 })
    expect(warnings.map(({ code }) => code)).toEqual(['different_splits', 'too_few_people'])
  })

  it('are computed for a project at most twice at a time', async () => {
    const decision = await create({})
    const { pool } = world.platform.db
    const holder = await pool.connect()
    const waiting = async (): Promise<number> => {
      const { rows } = await pool.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE '%decision.exposures%'`,
      )
      return rows[0]?.n ?? 0
    }
    try {
      await holder.query('BEGIN')
      await holder.query('LOCK TABLE decision.exposures')
      const running = [resultsOf(decision.key), resultsOf(decision.key)]
      await eventually('both wait', async () => (await waiting()) === 2)
      const third = await world.manage('GET', `decisions/${decision.key}/results`)
      expect(third).toMatchObject({ status: 429, body: { retryAfterSeconds: expect.any(Number) } })
      await holder.query('ROLLBACK')
      await Promise.all(running)
    } finally {
      holder.release(true)
    }
    await resultsOf(decision.key)
  })

  it('are empty before the first exposure', async () => {
    const decision = await create({ metrics: [{ eventName: 'order', kind: 'count', goal: 'up' }] })
    const { metrics, sampleRatio } = await resultsOf(decision.key)
    expect(metrics[0]).toMatchObject({
      key: 'order.count',
      variants: [{ variant: 'off', people: 0, value: null }, {}],
    })
    expect(sampleRatio).toEqual({ expected: {}, seen: {}, pValue: null })
  })

  it('belong to a project and to a decision', async () => {
    expect((await world.manage('GET', 'decisions/nobody-knows/results')).status).toBe(404)
  })

  it('have up to 10 metrics, of selectors of this project', async () => {
    const metrics = (n: number) =>
      Array.from({ length: n }, (_, index) => ({
        key: `m${index}`,
        eventName: 'order',
        kind: 'count',
        goal: 'up',
      }))
    await create({ metrics: metrics(10) })
    const eleven = await world.manage('POST', 'decisions', aDecision({ metrics: metrics(11) }))
    expect(eleven).toMatchObject({ status: 422, body: { errors: [{ field: 'metrics' }] } })
    const foreign = aDecision({ metrics: [{ selectorId: randomUUID(), kind: 'count', goal: 'up' }] })
    expect(await world.manage('POST', 'decisions', foreign)).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'metrics.0.selectorId' }] },
    })
    for (const [length, status] of [
      [200, 201],
      [201, 422],
    ] as const) {
      const long = aDecision({ metrics: [{ eventName: 'x'.repeat(length), kind: 'count', goal: 'up' }] })
      expect((await world.manage('POST', 'decisions', long)).status).toBe(status)
    }
  })
})
