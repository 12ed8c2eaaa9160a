import { MAX_FUNNEL_WINDOW_SECONDS } from '@waymark/contracts/http/analytics'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { type EventFilter, type PropertyRef, parsePropertyName } from '@waymark/domain/analytics'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { anEnrichedEvent } from '@waymark/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventQueries, EventStore, EventWrites, StoredProfile } from '../src/store.ts'
import { trendMetrics, visitFields } from '../src/store.ts'
import { bucketAfter, zonedBuckets } from '../src/zoned-buckets.ts'
import { createReferenceStore } from './reference-store.ts'

const START = Date.parse('2026-03-27T00:00:00Z')
const HOUR_MS = 3_600_000
const DAYS = 6
const LONGEST_WINDOW_MS = MAX_FUNNEL_WINDOW_SECONDS * 1_000

const property = (name: string): PropertyRef => {
  const ref = parsePropertyName(name)
  if (!ref) throw new Error(`${name} is no property`)
  return ref
}
const PROJECT = (n: number) => `01900000-0000-7000-8000-0000000000${n}0`
const PROFILE = (n: number) => `01900000-0000-7000-8000-00000000010${n}`
const SHORT_LINK = '01900000-0000-7000-8000-000000000300'
const SELECTOR = (n: number) => `01900000-0000-7000-8000-00000000020${n}`

const propertyValue = fc.oneof(
  fc.constantFrom('a', 'b', 'A', '', '4', 'true', 'ä"\\', 'Ä'),
  fc.constantFrom(1, 2, 4, -0.5, 12345),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom<unknown>({ x: 1 }, { x: 'a' }, [1, 2], { 0: 'zero' }),
  // No negative counterpart: sums would depend on the order of their additions.
  fc.constant(2 ** 64),
)
const propertyKeys = ['p', 'q', '0', '__proto__', 'a.b', "x'; DROP TABLE events; --", '/~$"']
const eventArbitrary = fc
  .record({
    project: fc.constantFrom(1, 1, 1, 2),
    id: fc.integer({ min: 0, max: DAYS * 24 * 4 - 1 }),
    campaign: fc.option(fc.constantFrom('spring', 'a')),
    linkCampaign: fc.option(fc.constantFrom('spring', 'b')),
    profile: fc.option(fc.integer({ min: 1, max: 6 })),
    anonymous: fc.constantFrom(null, 'v8', 'v9'),
    session: fc.option(fc.constantFrom('s1', 's2'), { freq: 5 }),
    bot: fc.constantFrom(false, false, false, false, true),
    path: fc.option(fc.constantFrom('/', '/shoes', '/cart')),
    country: fc.option(fc.constantFrom('DE', 'FR')),
    referrerHost: fc.option(fc.constantFrom('www.google.de', 'blog.example', 'm.facebook.com')),
    click: fc.option(fc.constantFrom('gclid', 'fbclid'), { freq: 1 }),
    source: fc.option(fc.constantFrom('news', 'Google', '')),
    medium: fc.option(fc.constantFrom('Email', 'cpc', 'qr')),
    warnings: fc.constantFrom(0, 0, 1, 3),
    conversions: fc.array(
      fc.record({
        selector: fc.constantFrom(1, 2),
        amount: fc.option(fc.integer({ min: 0, max: 9_000 })),
        currency: fc.constantFrom('EUR', 'USD'),
      }),
      { maxLength: 2 },
    ),
    properties: fc.dictionary(fc.constantFrom(...propertyKeys), propertyValue, { maxKeys: 4 }),
  })
  .map(({ id, ...rest }): EnrichedEvent => {
    // The same id again is a repeat: of one name and time, and with anything else. Two ids have each time.
    const slot = Math.floor(id / 2)
    const at = new Date(START + (slot * 30 + (slot % 3)) * 60_000).toISOString()
    const eventName = ['page_view', 'page_view', 'add_to_cart', 'order'][id % 4] ?? ''
    const made = anEnrichedEvent({
      projectId: PROJECT(rest.project),
      receivedAt: at,
      event: {
        eventId: `event-${id}`,
        eventName,
        ...(rest.session !== null && { sessionId: rest.session }),
        visitorId: rest.profile === null ? rest.anonymous : `v${rest.profile}`,
        properties: rest.properties,
      },
    })
    return {
      ...made,
      timestamp: at,
      profileId: rest.profile === null ? null : PROFILE(rest.profile),
      warnings: Array.from({ length: rest.warnings }, () => ({ field: 'a', rule: 'b', message: 'c' })),
      conversions: rest.conversions.map(({ selector, amount, currency }) => ({
        selectorId: SELECTOR(selector),
        amount,
        currency: amount === null ? null : currency,
        quantity: null,
      })),
      shortLinkId: rest.linkCampaign === null ? null : SHORT_LINK,
      context: {
        ...made.context,
        bot: rest.bot,
        path: rest.path,
        country: rest.country,
        referrerHost: rest.referrerHost,
        clickIds: rest.click === null ? {} : { [rest.click]: 'id' },
        utm: { ...made.context.utm, campaign: rest.campaign, source: rest.source, medium: rest.medium },
        ...(rest.linkCampaign !== null && {
          shortLink: { id: SHORT_LINK, code: 'code', campaign: rest.linkCampaign, clickId: null },
        }),
      },
    }
  })

const profileArbitrary = fc
  .record({
    profile: fc.integer({ min: 1, max: 4 }),
    into: fc.option(fc.constantFrom(5, 6)),
    plan: fc.constantFrom('pro', 'free', 3, null),
    email: fc.constantFrom('Ann@shop.example', 'ann@other.example', 'Ännchen@shop.example', 4, undefined),
    version: fc.integer({ min: 1, max: 9 }),
    project: fc.constantFrom(1, 1, 2),
  })
  .map(
    ({ profile, into, plan, email, version, project }): StoredProfile => ({
      projectId: PROJECT(project),
      profileId: PROFILE(profile),
      mergedInto: into === null ? null : PROFILE(into),
      traits: { ...(plan !== null && { plan }), ...(email !== undefined && { email }) },
      version: version * 10 + profile,
    }),
  )

/** A call of one of a store's methods, as data so that a failure shows it. */
type CallOf<Part> = {
  [M in keyof Part]: Part[M] extends (argument: infer A) => unknown ? readonly [M, A] : never
}[keyof Part]

type Change = CallOf<EventWrites>

const changeArbitrary: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(eventArbitrary, { maxLength: 25 })
      .map((events): Change => ['storeEvents', [...events, ...events.slice(0, 3)]]),
  },
  {
    weight: 2,
    arbitrary: fc
      .uniqueArray(profileArbitrary, {
        maxLength: 3,
        selector: ({ projectId, profileId }) => projectId + profileId,
      })
      .map((profiles): Change => ['storeProfiles', profiles]),
  },
  {
    weight: 1,
    arbitrary: eventArbitrary.map(
      ({ projectId, eventId }): Change => ['eraseEvents', [{ projectId, eventKey: eventKeyOf(eventId) }]],
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 1, max: 4 })
      .map((n): Change => ['eraseProfiles', [{ projectId: PROJECT(1), profileId: PROFILE(n) }]]),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(eventArbitrary, { maxLength: 3 })
      .map(
        (events): Change => [
          'findEventNames',
          events.map(({ projectId, eventId }) => ({ projectId, eventKey: eventKeyOf(eventId) })),
        ],
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 0, max: DAYS * 24 }), fc.option(fc.integer({ min: 0, max: DAYS * 24 })))
      .map(
        ([hours, received]): Change => [
          'removeOldestDay',
          {
            projectId: PROJECT(1),
            before: START + hours * HOUR_MS,
            receivedBefore: received === null ? undefined : START + received * HOUR_MS,
          },
        ],
      ),
  },
)

const propertyArbitrary = fc
  .constantFrom(
    'properties.p',
    'properties.q',
    'properties.a\\.b',
    "properties.x'; DROP TABLE events; --",
    'properties./~$"',
    'properties.q.x',
    'properties.q.0',
    'properties.__proto__',
    'context.country',
    'context.bot',
    'eventName',
    'traits.plan',
    'campaign',
    'utm.campaign',
    'link',
  )
  .map(property)
const filterArbitrary: fc.Arbitrary<EventFilter> = fc.oneof(
  fc.record({ property: propertyArbitrary, negated: fc.boolean(), test: fc.constant('exists' as const) }),
  fc.record({
    property: propertyArbitrary,
    negated: fc.boolean(),
    test: fc.constant('in' as const),
    values: fc.array(fc.constantFrom('a', 'DE', 'order', '4', 4, 1, 2 ** 63, true, false, 'pro', "'; --"), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  fc.record({
    property: propertyArbitrary,
    negated: fc.constant(false),
    test: fc.constantFrom('gt' as const, 'gte' as const, 'lt' as const, 'lte' as const),
    value: fc.constantFrom<string | number>('a', 'B', '', 1, 2.5, -1, 2 ** 63, -1e300),
  }),
  fc.record({
    property: propertyArbitrary,
    negated: fc.constant(false),
    test: fc.constantFrom('contains' as const, 'starts_with' as const),
    value: fc.constantFrom('a', 'D', '"', '4', 'r'),
  }),
)
const filtersArbitrary = fc.array(filterArbitrary, { maxLength: 2 })
const rangeArbitrary = fc
  .tuple(fc.integer({ min: 0, max: DAYS * 24 }), fc.integer({ min: 1, max: DAYS * 24 }))
  .map(([begin, hours]) => ({ from: START + begin * HOUR_MS, to: START + (begin + hours) * HOUR_MS }))

type QueryCall = CallOf<Omit<EventQueries, 'readPlaces' | 'readValues'>>

const trendArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    range: rangeArbitrary,
    metric: fc.constantFrom(...trendMetrics),
    zone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns', 'Asia/Beirut'),
    interval: fc.constantFrom('hour' as const, 'day' as const, 'week' as const, 'month' as const),
    eventName: fc.option(fc.constantFrom('page_view', 'order'), { nil: undefined }),
    filters: filtersArbitrary,
    breakdown: fc.option(propertyArbitrary, { nil: undefined }),
    selector: fc.boolean(),
    maxGroups: fc.integer({ min: 1, max: 4 }),
    groups: fc.option(fc.uniqueArray(fc.constantFrom('a', 'DE', 'order', null, "'; --"), { maxLength: 3 }), {
      nil: undefined,
      freq: 2,
    }),
    includeBots: fc.boolean(),
  })
  .map(({ range, zone, interval, selector, ...rest }): QueryCall => {
    const bySelector = selector && (rest.metric === 'conversions' || rest.metric === 'revenue')
    return [
      'measureTrend',
      {
        projectId: PROJECT(1),
        ...range,
        ...rest,
        breakdown: bySelector ? { source: 'selector' } : rest.breakdown,
        property: property('properties.p'),
        buckets: zonedBuckets(interval, zone, range.from, range.to, 1_000) ?? [],
      },
    ]
  })
const stepArbitrary = fc.record({
  eventName: fc.constantFrom('page_view', 'add_to_cart', 'order'),
  filters: fc.array(filterArbitrary, { maxLength: 1 }),
})
const funnelArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    range: rangeArbitrary,
    steps: fc.array(stepArbitrary, { minLength: 2, maxLength: 4 }),
    windowMs: fc.constantFrom(HOUR_MS, 24 * HOUR_MS, 72 * HOUR_MS, LONGEST_WINDOW_MS),
    order: fc.constantFrom('ordered' as const, 'any' as const),
    breakdown: fc.option(propertyArbitrary, { nil: undefined }),
    maxGroups: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ range, ...rest }): QueryCall => ['measureFunnel', { projectId: PROJECT(1), ...range, ...rest }])
const retentionArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    range: rangeArbitrary,
    startEvent: fc.constantFrom('page_view', 'order'),
    returnEvent: fc.constantFrom('page_view', 'order'),
    periods: fc.integer({ min: 0, max: 3 }),
    zone: fc.constantFrom('Europe/Berlin', 'Asia/Beirut', 'Asia/Kathmandu'),
    interval: fc.constantFrom('day' as const, 'day' as const, 'week' as const, 'month' as const),
  })
  .map(({ range, periods, zone, interval, ...rest }): QueryCall => {
    const cohorts = zonedBuckets(interval, zone, range.from, range.to, 100) ?? []
    const bounds = [...cohorts]
    for (let period = 0; period <= periods; period++)
      bounds.push(bucketAfter(interval, zone, bounds.at(-1) ?? range.from, 1))
    return [
      'measureRetention',
      {
        projectId: PROJECT(1),
        ...range,
        ...rest,
        periods,
        bounds,
        cohorts: cohorts.length,
      },
    ]
  })
const pathsArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    range: rangeArbitrary,
    startEvent: fc.option(fc.constantFrom('page_view', 'add_to_cart'), { nil: undefined }),
    endEvent: fc.option(fc.constantFrom('order', 'page_view'), { nil: undefined }),
    depth: fc.integer({ min: 2, max: 6 }),
    limit: fc.integer({ min: 1, max: 30 }),
  })
  .map(({ range, ...rest }): QueryCall => ['measurePaths', { projectId: PROJECT(1), ...range, ...rest }])
const webArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    method: fc.constantFrom('measureVisits' as const, 'measurePages' as const, 'measureGoals' as const),
    range: rangeArbitrary,
    filters: fc.array(filterArbitrary, { maxLength: 1 }),
    visitFilters: fc.array(
      fc.record({
        field: fc.constantFrom(...visitFields),
        filter: filterArbitrary.map((filter) => ({ ...filter, property: property('eventName') })),
      }),
      { maxLength: 1 },
    ),
    limit: fc.integer({ min: 0, max: 5 }),
    interval: fc.constantFrom('hour' as const, 'day' as const),
  })
  .map(({ method, range, interval, ...rest }): QueryCall => {
    const buckets = zonedBuckets(interval, 'Europe/Berlin', range.from, range.to, 1_000) ?? []
    return [method, { projectId: PROJECT(1), ...range, ...rest, buckets }]
  })
const suggestionRange = fc.record({
  range: rangeArbitrary,
  eventName: fc.option(fc.constantFrom('order'), { nil: undefined }),
})
const propertiesArbitrary: fc.Arbitrary<QueryCall> = suggestionRange.map(
  ({ range, eventName }): QueryCall => [
    'listProperties',
    { projectId: PROJECT(1), ...range, eventName, limit: 20 },
  ],
)
const valuesArbitrary: fc.Arbitrary<QueryCall> = fc
  .tuple(suggestionRange, propertyArbitrary, fc.option(fc.constantFrom('A', 'd', 'Ä'), { nil: undefined }))
  .map(
    ([{ range, eventName }, of, contains]): QueryCall => [
      'listPropertyValues',
      { projectId: PROJECT(1), ...range, eventName, property: of, contains, limit: 20 },
    ],
  )
const profilesArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    filters: fc.array(
      filterArbitrary.map((filter): EventFilter => ({ ...filter, property: property('traits.plan') })),
      { maxLength: 2 },
    ),
    emails: fc.option(
      fc.array(fc.constantFrom('ann', 'ANN@shop.example', 'änn', '4', "'; --", '%'), { minLength: 1 }),
      {
        nil: undefined,
      },
    ),
    below: fc.option(fc.integer({ min: 1, max: 5 }).map(PROFILE), { nil: undefined }),
    limit: fc.integer({ min: 1, max: 5 }),
  })
  .map((rest): QueryCall => ['findProfiles', { projectId: PROJECT(1), ...rest }])
const segmentArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    match: fc.constantFrom('all' as const, 'any' as const),
    filters: fc.array(
      filterArbitrary.map((filter) => ({
        ...filter,
        property: { source: 'traits' as const, path: ['plan'] },
      })),
      { maxLength: 2 },
    ),
    counts: fc.array(
      fc.record({
        eventName: fc.constantFrom('page_view', 'order', 'never'),
        days: fc.integer({ min: 1, max: DAYS + 1 }),
        op: fc.constantFrom('eq' as const, 'gt' as const, 'gte' as const, 'lt' as const, 'lte' as const),
        value: fc.integer({ min: 0, max: 3 }),
      }),
      { maxLength: 2 },
    ),
    hours: fc.integer({ min: 0, max: DAYS * 24 }),
    ends: fc.boolean(),
    sample: fc.integer({ min: 1, max: 3 }),
  })
  .filter(({ filters, counts }) => filters.length + counts.length > 0)
  .map(({ hours, ends, sample, ...segment }): QueryCall => {
    const now = START + hours * HOUR_MS
    return ['measureSegment', { projectId: PROJECT(1), segment, now, sample, ...(ends && { to: now }) }]
  })
const countsArbitrary = fc
  .record({
    eventName: fc.constantFrom('page_view', 'order'),
    from: fc.integer({ min: 0, max: DAYS * 24 }),
    receivedBefore: fc.integer({ min: 0, max: DAYS * 24 }),
    after: fc.option(fc.integer({ min: 1, max: 6 })),
    people: fc.integer({ min: 1, max: 4 }),
  })
  .map(
    ({ eventName, from, receivedBefore, after, people }): QueryCall => [
      'countByPerson',
      {
        projectId: PROJECT(1),
        eventName,
        people,
        from: START + from * HOUR_MS,
        receivedBefore: START + receivedBefore * HOUR_MS,
        after: after === null ? undefined : PROFILE(after),
      },
    ],
  )
const momentsArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    range: rangeArbitrary,
    eventName: fc.option(fc.constantFrom('page_view', 'order'), { nil: undefined }),
    countedEvents: fc.uniqueArray(fc.constantFrom('page_view', 'add_to_cart', 'order'), { maxLength: 2 }),
    counted: fc.integer({ min: 0, max: DAYS * 24 }),
    maxPeople: fc.integer({ min: 1, max: 4 }),
    maxMoments: fc.integer({ min: 1, max: 30 }),
  })
  .map(
    ({ range, counted, ...rest }): QueryCall => [
      'sampleMoments',
      { projectId: PROJECT(1), ...range, ...rest, countedFrom: START + counted * HOUR_MS },
    ],
  )

const eventsArbitrary: fc.Arbitrary<QueryCall> = fc
  .record({
    from: fc.option(fc.integer({ min: 0, max: DAYS * 24 }), { nil: undefined }),
    to: fc.option(fc.integer({ min: 0, max: DAYS * 24 }), { nil: undefined }),
    receivedFrom: fc.option(fc.integer({ min: 0, max: DAYS * 24 }), { nil: undefined }),
    below: fc.option(
      fc.record({
        slot: fc.integer({ min: 0, max: DAYS * 48 - 1 }),
        id: fc.option(fc.integer({ min: 0, max: 1 }), { nil: undefined }),
      }),
      { nil: undefined },
    ),
    id: fc.option(fc.integer({ min: 0, max: DAYS * 24 * 4 - 1 }), { nil: undefined, freq: 1 }),
    eventName: fc.option(fc.constantFrom('page_view', 'order'), { nil: undefined, freq: 1 }),
    visitorId: fc.option(fc.constantFrom('v1', 'v2'), { nil: undefined, freq: 1 }),
    profileIds: fc.option(fc.uniqueArray(fc.integer({ min: 1, max: 6 }).map(PROFILE)), {
      nil: undefined,
      freq: 1,
    }),
    filters: filtersArbitrary,
    portion: fc.integer({ min: 1, max: 20 }).map((most) => () => most),
  })
  .map(({ from, to, receivedFrom, below, id, ...rest }): QueryCall => {
    const timeOf = (hours: number | undefined) => (hours === undefined ? undefined : START + hours * HOUR_MS)
    return [
      'readEvents',
      {
        projectId: PROJECT(1),
        ...rest,
        from: timeOf(from),
        to: timeOf(to),
        receivedFrom: timeOf(receivedFrom),
        below: below && {
          receivedAt: START + (below.slot * 30 + (below.slot % 3)) * 60_000,
          eventKey: below.id === undefined ? undefined : eventKeyOf(`event-${below.slot * 2 + below.id}`),
        },
        eventKeys: id === undefined ? undefined : [eventKeyOf(`event-${id}`), eventKeyOf('event-0')],
      },
    ]
  })
/** Queries of every kind. */
const queriesArbitrary = fc.tuple(
  trendArbitrary,
  trendArbitrary,
  funnelArbitrary,
  retentionArbitrary,
  pathsArbitrary,
  webArbitrary,
  webArbitrary,
  propertiesArbitrary,
  valuesArbitrary,
  profilesArbitrary,
  segmentArbitrary,
  segmentArbitrary,
  countsArbitrary,
  momentsArbitrary,
  momentsArbitrary,
  eventsArbitrary,
  eventsArbitrary,
)

const apply = async (store: EventWrites, [method, argument]: Change): Promise<unknown> => {
  const answer: unknown = await store[method](argument as never)
  return Array.isArray(answer) ? comparable(answer) : answer
}
const run = async (store: EventQueries, [method, query]: QueryCall): Promise<unknown[]> => {
  if (method === 'sampleMoments') return [await store.sampleMoments(query)]
  if (method !== 'readEvents') return store[method](query as never)
  const portions = await Array.fromAsync(store.readEvents(query))
  for (const { events } of portions) expect(events.length).toBeLessThanOrEqual(query.portion())
  const places = (await Array.fromAsync(store.readPlaces(query))).flatMap((portion) => portion.places)
  expect(places).toEqual(
    portions.flatMap(({ events }) =>
      events.map(({ receivedAt, eventKey }) => ({ receivedAt: Date.parse(receivedAt), eventKey })),
    ),
  )
  return portions.flatMap(({ events }) => events).map((event, place) => ({ ...event, place }))
}

/** Rows without regard to order, and numbers to nine digits, which no store's way of adding up changes. */
const comparable = (rows: readonly unknown[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(row, (_, value) => {
        if (typeof value === 'number') return Number(value.toPrecision(9))
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
        return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      }),
    )
    .sort()

/**
 * Asserts that a store completes events: the first, which it has from an earlier version; the second, which is also erased;
 * and the third, which it lacks.
 */
export const expectCompleted = async (store: EventStore, events: readonly EnrichedEvent[]): Promise<void> => {
  const projectId = events[0]?.projectId ?? ''
  const idsIn = async () =>
    (await Array.fromAsync(store.readEvents({ projectId, portion: () => 10 })))
      .flatMap((portion) => portion.events)
      .map(({ eventId }) => eventId)
      .sort()
  const keys = events.map(({ eventId }) => ({ projectId, eventKey: eventKeyOf(eventId) }))
  const found = async () => {
    const named = await store.findEventNames(keys)
    return keys.map(({ eventKey }) => named.find((event) => event.eventKey === eventKey)?.eventName)
  }
  const names = events.map(({ eventName }) => eventName)
  expect(await idsIn()).toEqual([])
  expect(await found()).toEqual([undefined, names[1], undefined])
  for (let repeat = 0; repeat < 2; repeat++) {
    await store.completeEvents(events)
    expect(await found()).toEqual(names)
    expect(await idsIn()).toEqual([events[0]?.eventId, events[2]?.eventId].sort())
  }
  await store.storeEvents(events)
  expect(await idsIn()).toHaveLength(2)
}

/** What an event store promises, asserted on one adapter; each call of `open` gives an empty one. */
export const describeEventStore = (open: () => Promise<EventStore>, { runs }: { runs: number }): void => {
  it('answers every query like the reference, after any writes, merges, repeats and erasures', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(changeArbitrary, { minLength: 1, maxLength: 8 }),
        queriesArbitrary,
        async (changes, queries) => {
          const [store, reference] = [await open(), createReferenceStore()]
          for (const change of changes) {
            const answer = await apply(store, change)
            expect(answer).toEqual(await apply(reference, change))
          }
          for (const query of queries)
            expect(comparable(await run(store, query))).toEqual(comparable(await run(reference, query)))
          await store.close()
        },
      ),
      // Shrinking takes longer than the test may.
      { numRuns: runs, endOnFailure: true },
    )
  })
  it('answers about visits as the reference does, whichever days were derived before, between and after changes', async () => {
    const manyEvents = fc
      .array(eventArbitrary, { minLength: 20, maxLength: 100 })
      .map((events): Change => ['storeEvents', events])
    const steps = fc.array(fc.tuple(fc.oneof(manyEvents, changeArbitrary), fc.nat({ max: DAYS })), {
      minLength: 2,
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.array(webArbitrary, { minLength: 4, maxLength: 12 }),
        async (changes, queries) => {
          const [store, reference] = [await open(), createReferenceStore()]
          const due = {
            endedBefore: START + (DAYS + 2) * 24 * HOUR_MS,
            changedBefore: Number.MAX_SAFE_INTEGER,
          }
          for (const [change, days] of changes) {
            await apply(store, change)
            await apply(reference, change)
            for (let day = 0; day < days; day++) await store.deriveVisits(due)
          }
          for (const query of queries)
            expect(comparable(await run(store, query))).toEqual(comparable(await run(reference, query)))
          await store.close()
        },
      ),
      { numRuns: runs, endOnFailure: true },
    )
  })

  it('counts 10,000 page views in visits that are known exactly', async () => {
    const store = await open()
    const [visitors, visitsOfEach, viewsOfEach] = [500, 5, 4]
    const sources = [
      { channel: 'organic_search', source: 'google.de', referrerHost: 'www.google.de' },
      { channel: 'direct', source: null, referrerHost: null },
    ]
    const made = anEnrichedEvent({ projectId: PROJECT(1), event: { eventName: 'page_view' } })
    const events = Array.from({ length: visitors * visitsOfEach * viewsOfEach }, (_, n): EnrichedEvent => {
      const view = n % viewsOfEach
      const visit = Math.floor(n / viewsOfEach)
      const visitor = Math.floor(visit / visitsOfEach)
      // Visits of a visitor are 31 minutes apart, and their views 60 s. Of a fifth only the first view is stored.
      const ofVisitor = visit % visitsOfEach
      const at = START + (ofVisitor * 31 * 60 + view * 60 + ofVisitor * 180) * 1_000
      const source = sources[visitor % 2]
      return {
        ...made,
        eventId: `view-${n}`,
        timestamp: new Date(at).toISOString(),
        profileId: null,
        visitorId: `visitor-${visitor}`,
        // The script names the sessions of half of the visitors.
        sessionId: visitor < visitors / 2 ? `session-${visit}` : null,
        conversions:
          view === 2 && ofVisitor === 1
            ? [{ selectorId: SELECTOR(1), amount: 250, currency: 'EUR', quantity: null }]
            : [],
        context: {
          ...made.context,
          bot: false,
          path: `/${view}`,
          country: 'DE',
          referrerHost: view === 0 ? (source?.referrerHost ?? null) : null,
        },
      }
    })
    const bounced = (n: number) => Math.floor(n / viewsOfEach) % visitsOfEach === 4 && n % viewsOfEach > 0
    await store.storeEvents(events.filter((_, n) => !bounced(n)))
    const visits = visitors * visitsOfEach
    const views = events.length - visitors * (viewsOfEach - 1)
    const query = {
      projectId: PROJECT(1),
      from: START,
      to: START + 24 * HOUR_MS,
      buckets: [START],
      filters: [],
      visitFilters: [],
      limit: 10,
    }
    const total = {
      visitors,
      visits,
      views,
      bounces: visitors,
      converted: visitors,
      durationMs: visitors * (visitsOfEach - 1) * (viewsOfEach - 1) * 60_000,
    }
    const part = (share: number) => ({
      ...Object.fromEntries(Object.entries(total).map(([name, number]) => [name, number * share])),
      visitors: null,
    })
    const rows = await store.measureVisits(query)
    const ofKind = (kind: string) =>
      rows.filter((row) => row.kind === kind).sort((a, b) => (`${a.value}` < `${b.value}` ? -1 : 1))
    expect(ofKind('total')).toEqual([{ kind: 'total', value: null, ...total }])
    expect(ofKind('bucket')).toEqual([{ kind: 'bucket', value: '0', ...total }])
    expect(ofKind('channel')).toEqual([
      { kind: 'channel', value: 'direct', ...part(0.5) },
      { kind: 'channel', value: 'organic_search', ...part(0.5) },
    ])
    expect(ofKind('entryPage')).toEqual([{ kind: 'entryPage', value: '/0', ...part(1) }])
    expect(ofKind('exitPage').map(({ value, visits: of }) => [value, of])).toEqual([
      ['/0', visitors],
      ['/3', visits - visitors],
    ])
    expect(await store.measurePages(query)).toEqual([
      { path: '/0', visitors, views: visits },
      ...[1, 2, 3].map((n) => ({ path: `/${n}`, visitors, views: visits - visitors })),
    ])
    const goals = await store.measureGoals(query)
    expect(goals.filter(({ kind }) => kind === 'selector')).toHaveLength(2)
    expect(goals).toContainEqual({
      kind: 'selector',
      value: SELECTOR(1),
      currency: null,
      conversions: visitors,
      visits: visitors,
      amount: visitors * 250,
    })
    expect(goals).toContainEqual({
      kind: 'source',
      value: 'google.de',
      currency: 'EUR',
      conversions: visitors / 2,
      visits: visitors / 2,
      amount: (visitors / 2) * 250,
    })
    await store.close()
  })
  it('reads unusual names and values like the reference', async () => {
    const [store, reference] = [await open(), createReferenceStore()]
    const keys = [
      '"',
      "'",
      '\\',
      '.',
      '',
      ' ',
      '/',
      '~1',
      '0',
      '-',
      '#',
      '$.a',
      '*',
      '{p0:String}',
      '$p0',
      '%s',
    ]
    keys.push(
      '__proto__',
      'constructor',
      'length',
      '😀',
      'e\u0301',
      '\u2028',
      '\n',
      '\u0001',
      'x'.repeat(500),
    )
    const numbers = [
      0,
      -0,
      0.1,
      5e-324,
      1e21,
      Number.MAX_VALUE,
      2 ** 53,
      2 ** 63,
      2 ** 64,
      -(2 ** 63),
      -(2 ** 65),
    ]
    const texts = ['', '4', 'true', 'null', '"', '\\u0041', '{"a":1}', '[1]', '😀', 'ä'.repeat(3_000)]
    const others = [true, false, null, {}, [], [1, 'x'], [[1]], { 0: 'zero' }, { a: { 0: 1 } }]
    const properties = [
      ...keys.map((key) => Object.fromEntries([[key, 'found']])),
      ...keys.map((key) => ({ nested: Object.fromEntries([[key, 7]]) })),
      ...[...numbers, ...texts, ...others].map((value) => ({ value, beside: 'found' })),
    ]
    const events = properties.map((of, n) => {
      const at = new Date(START + n * 1_000).toISOString()
      const event = { eventId: `hostile-${n}`, eventName: 'order', properties: of as never }
      const made = anEnrichedEvent({ projectId: PROJECT(1), receivedAt: at, event })
      return { ...made, timestamp: at, context: { ...made.context, bot: false } }
    })
    const within = { projectId: PROJECT(1), from: START, to: START + HOUR_MS }
    const trend = { ...within, buckets: [START], filters: [], maxGroups: 100, includeBots: false }
    const refs = [
      ...keys.filter((key) => key !== '').flatMap((key) => [[key], ['nested', key], ['value', key]]),
      ['value'],
      ['beside'],
      ['value', 'a', '0'],
      ['value', '0', '0'],
    ].map((path): PropertyRef => ({ source: 'properties', path }))
    const ofValue = { property: property('properties.value') }
    const filters: EventFilter[] = [...numbers, ...texts, true].flatMap((value): EventFilter[] => [
      { ...ofValue, negated: true, test: 'in', values: [value] },
      ...(typeof value === 'boolean' ? [] : [{ ...ofValue, negated: false, test: 'gt' as const, value }]),
    ])
    const queries: QueryCall[] = [
      ...refs.map((ref): QueryCall => ['measureTrend', { ...trend, metric: 'events', breakdown: ref }]),
      ...refs.map((ref): QueryCall => ['measureTrend', { ...trend, metric: 'sum', property: ref }]),
      ...filters.map(
        (filter): QueryCall => ['measureTrend', { ...trend, metric: 'events', filters: [filter] }],
      ),
      ['listProperties', { ...within, limit: 100 }],
      ['listPropertyValues', { ...within, ...ofValue, limit: 100 }],
    ]
    for (const of of [store, reference]) await of.storeEvents(events)
    for (const query of queries)
      expect([query, comparable(await run(store, query))]).toEqual([
        query,
        comparable(await run(reference, query)),
      ])
    await store.close()
  })

  it.each([1, 61, 62, 63, 64])(
    'counts people, sessions and visitors once in each of %i buckets',
    async (count) => {
      const [store, reference] = [await open(), createReferenceStore()]
      const at = (bucket: number, profile: number) => {
        const receivedAt = new Date(START + bucket * HOUR_MS).toISOString()
        const event = { eventId: `${bucket} ${profile}`, visitorId: `v${profile}`, sessionId: `s${profile}` }
        const made = anEnrichedEvent({ projectId: PROJECT(1), receivedAt, event })
        const context = { ...made.context, bot: false }
        return { ...made, timestamp: receivedAt, profileId: PROFILE(profile), context }
      }
      const merge = { profileId: PROFILE(2), mergedInto: PROFILE(1) }
      for (const of of [store, reference]) {
        await of.storeEvents([at(0, 1), at(0, 2), at(count - 1, 2), at(count - 1, 3), at(count, 4)])
        // A visitor without a profile.
        await of.storeEvents([0, count - 1].map((bucket) => ({ ...at(bucket, 5), profileId: null })))
        await of.storeProfiles([{ projectId: PROJECT(1), ...merge, traits: {}, version: 1 }])
      }
      const range = { from: START, to: START + count * HOUR_MS }
      const buckets = Array.from({ length: count }, (_, place) => START + place * HOUR_MS)
      for (const metric of ['people', 'sessions', 'visitors'] as const) {
        const query = { projectId: PROJECT(1), ...range, buckets, metric, filters: [], maxGroups: 10 }
        const call: QueryCall = ['measureTrend', { ...query, includeBots: false }]
        const answer = await run(reference, call)
        expect(answer).toContainEqual(
          expect.objectContaining({ bucket: null, value: metric === 'people' ? 3 : 4 }),
        )
        expect(comparable(await run(store, call))).toEqual(comparable(answer))
      }
      await store.close()
    },
  )

  /** A store and the reference with these events and profiles. */
  const bothWith = async (events: readonly EnrichedEvent[], profiles: readonly StoredProfile[] = []) => {
    const [store, reference] = [await open(), createReferenceStore()]
    for (const of of [store, reference]) {
      await of.storeEvents(events)
      await of.storeProfiles(profiles)
    }
    return { store, reference }
  }
  const expectLikeReference = async (
    { store, reference }: Awaited<ReturnType<typeof bothWith>>,
    call: QueryCall,
  ): Promise<unknown[]> => {
    const answer = await run(store, call)
    expect(comparable(answer)).toEqual(comparable(await run(reference, call)))
    return answer
  }
  /** An event of a person, some seconds after the start. */
  const eventAt = (
    seconds: number,
    { id = `at ${seconds}`, name = 'order', profile = 1, properties = {} as Record<string, unknown> } = {},
  ): EnrichedEvent => {
    const receivedAt = new Date(START + Math.round(seconds * 1_000)).toISOString()
    const event = { eventId: id, eventName: name, properties: properties as never }
    const made = anEnrichedEvent({ projectId: PROJECT(1), receivedAt, event })
    const context = { ...made.context, bot: false, path: null }
    return { ...made, timestamp: receivedAt, profileId: PROFILE(profile), context }
  }
  const hour = { projectId: PROJECT(1), from: START, to: START + HOUR_MS }
  const trendOfHour = { ...hour, buckets: [START], filters: [], maxGroups: 100, includeBots: false }

  it('searches for values and email addresses in upper and lower case of every script', async () => {
    const texts = ['ÄRGER', 'ärger', 'ЖУК', 'ΣΙΓΜΑ', 'Straße', '鍵']
    const profiles = texts.map((text, n) => ({
      projectId: PROJECT(1),
      profileId: PROFILE(n + 1),
      mergedInto: null,
      version: 1,
      traits: { email: `${text}@shop.example` },
    }))
    const both = await bothWith(
      texts.map((text, n) => eventAt(n, { properties: { p: text } })),
      profiles,
    )
    for (const [part, count] of Object.entries({ äR: 2, жу: 1, Σιγ: 1, STRA: 1, 鍵: 1, ö: 0 })) {
      const values = { ...hour, property: property('properties.p'), contains: part, limit: 20 }
      expect(await expectLikeReference(both, ['listPropertyValues', values])).toHaveLength(count)
      const people = { projectId: PROJECT(1), filters: [], emails: [part], limit: 20 }
      expect(await expectLikeReference(both, ['findProfiles', people])).toHaveLength(count)
    }
    await both.store.close()
  })

  it('answers a query with as many filters and values as one may have', async () => {
    const long = 'k'.repeat(90)
    const path = [long, long, long, long, 'k']
    const nested = (value: unknown) => path.reduceRight<unknown>((of, key) => ({ [key]: of }), value)
    const both = await bothWith(
      ['v7', 7, true].map((value, n) => eventAt(n, { properties: nested(value) as Record<string, unknown> })),
    )
    const ref: PropertyRef = { source: 'properties', path }
    const valuesFrom = (first: number, count: number) =>
      Array.from({ length: count }, (_, n) => (n % 2 === 0 ? `v${first + n}` : first + n))
    const negatedFrom = (first: number, count: number): EventFilter => ({
      property: ref,
      negated: true,
      test: 'in',
      values: valuesFrom(first, count),
    })
    const few = Array.from({ length: 10 }, (_, n) => negatedFrom(n * 100, 100))
    const events: QueryCall = ['measureTrend', { ...trendOfHour, metric: 'events', filters: few }]
    expect(await expectLikeReference(both, events)).toContainEqual(
      expect.objectContaining({ bucket: null, value: 2 }),
    )
    const filters = Array.from({ length: 10 }, (_, n) => negatedFrom(n * 10, 10))
    const steps = Array.from({ length: 10 }, () => ({ eventName: 'order', filters }))
    for (const order of ['ordered', 'any'] as const) {
      const funnel = { ...hour, steps, windowMs: HOUR_MS, order, maxGroups: 1 }
      expect(await expectLikeReference(both, ['measureFunnel', funnel])).toContainEqual(
        expect.objectContaining({ step: 0, people: 1 }),
      )
    }
    await both.store.close()
  })

  it('compares groups whose names are as long as an event may be', async () => {
    const names = Array.from({ length: 100 }, (_, n) => `${n}${'ä'.repeat(8_000)}`)
    const both = await bothWith(names.map((name, n) => eventAt(n, { properties: { p: name } })))
    const breakdown = property('properties.p')
    for (const groups of [names, [...names.slice(1), null], []]) {
      const query = { ...trendOfHour, metric: 'events' as const, breakdown, groups }
      const answer = await expectLikeReference(both, ['measureTrend', query])
      expect(answer).toHaveLength(groups.length === 0 ? 2 : 200)
    }
    await both.store.close()
  })

  it('keeps numbers finite', async () => {
    const big = Number.MAX_VALUE
    const both = await bothWith([big, big, -big].map((p, n) => eventAt(n, { properties: { p } })))
    for (const metric of ['sum', 'avg', 'min', 'max', 'p50', 'p99'] as const) {
      const query = { ...trendOfHour, metric, property: property('properties.p') }
      for (const filters of [
        [],
        [{ property: property('properties.p'), negated: false, test: 'gt' as const, value: 0 }],
      ])
        for (const { value } of await both.store.measureTrend({ ...query, filters }))
          expect([metric, Number.isFinite(value)]).toEqual([metric, true])
    }
    await both.store.close()
  })

  describe('a funnel', () => {
    const [view, cart, order] = ['view', 'cart', 'order']
    const stepsOf = (names: readonly string[]) => names.map((eventName) => ({ eventName, filters: [] }))
    const peopleOf = (rows: unknown[]) =>
      (rows as { step: number; people: number }[]).sort((a, b) => a.step - b.step).map(({ people }) => people)
    const funnelOf = (names: readonly string[], order: 'ordered' | 'any', windowMs = 60_000): QueryCall => [
      'measureFunnel',
      { ...hour, steps: stepsOf(names), windowMs, order, maxGroups: 1 },
    ]

    it.each(['ordered', 'any'] as const)('takes an event for one step only (%s)', async (by) => {
      const both = await bothWith([
        eventAt(0, { name: view }),
        eventAt(0, { name: view, profile: 2, id: 'second' }),
        eventAt(60, { name: view, profile: 2 }),
      ])
      expect(peopleOf(await expectLikeReference(both, funnelOf([view, view], by)))).toEqual([2, 1])
      await both.store.close()
    })

    it.each(['ordered', 'any'] as const)('ends with the window, inclusive (%s)', async (by) => {
      const both = await bothWith([
        eventAt(0, { name: view }),
        eventAt(60, { name: order }),
        eventAt(1, { name: view, profile: 2 }),
        eventAt(61.001, { name: order, profile: 2 }),
        // At the end of the range, and after it.
        eventAt(3_599.999, { name: view, profile: 3 }),
        eventAt(3_659.999, { name: order, profile: 3 }),
        eventAt(3_600, { name: view, profile: 4 }),
        eventAt(3_601, { name: order, profile: 4 }),
      ])
      expect(peopleOf(await expectLikeReference(both, funnelOf([view, order], by)))).toEqual([3, 2])
      await both.store.close()
    })

    it.each(['ordered', 'any'] as const)('has a window of a year (%s)', async (by) => {
      const seconds = MAX_FUNNEL_WINDOW_SECONDS
      const both = await bothWith([
        eventAt(0, { name: view }),
        eventAt(seconds, { name: order }),
        eventAt(1, { name: view, profile: 2 }),
        eventAt(seconds + 1.001, { name: order, profile: 2 }),
      ])
      const call = funnelOf([view, order], by, LONGEST_WINDOW_MS)
      expect(peopleOf(await expectLikeReference(both, call))).toEqual([2, 1])
      await both.store.close()
    })

    it('takes the earliest of attempts that begin at the same time', async () => {
      const both = await bothWith(
        ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((id, n) => [
          ...[1, 2, 3, 4].map((profile) =>
            eventAt(n < 3 ? 0 : n, { name: view, profile, id: `${profile} ${id}` }),
          ),
        ]),
      )
      const answer = await expectLikeReference(both, funnelOf([view, view, view], 'ordered'))
      expect(answer).toContainEqual(expect.objectContaining({ step: 2, people: 4, medianMsFromPrevious: 0 }))
      await both.store.close()
    })

    it('orders events of the same time like the steps, and takes the best of several attempts', async () => {
      const both = await bothWith([
        ...[order, cart, view].map((name) => eventAt(5, { name, id: name })),
        // The first attempt ends after the window; the second is complete.
        eventAt(0, { name: view, profile: 2, id: 'a' }),
        eventAt(50, { name: view, profile: 2, id: 'b' }),
        eventAt(70, { name: cart, profile: 2 }),
        eventAt(100, { name: order, profile: 2 }),
        eventAt(10, { name: cart, profile: 3 }),
        eventAt(20, { name: view, profile: 3 }),
      ])
      const answer = await expectLikeReference(both, funnelOf([view, cart, order], 'ordered'))
      expect(peopleOf(answer)).toEqual([3, 2, 2])
      expect(answer).toContainEqual(expect.objectContaining({ step: 1, medianMsFromPrevious: 10_000 }))
      expect(answer).toContainEqual(expect.objectContaining({ step: 2, medianMsFromPrevious: 15_000 }))
      await both.store.close()
    })
  })

  it('finds the events of a project whose id is written in capitals', async () => {
    const store = await open()
    const receivedAt = new Date(START).toISOString()
    const projectId = '01900000-0000-7000-8000-00000000abcd'
    await store.storeEvents([{ ...anEnrichedEvent({ projectId, receivedAt }), timestamp: receivedAt }])
    const query = { from: START, to: START + HOUR_MS, buckets: [START], metric: 'events' as const }
    const answer = await store.measureTrend({
      projectId: projectId.toUpperCase(),
      ...query,
      filters: [],
      maxGroups: 10,
      includeBots: true,
    })
    expect(answer).toContainEqual(expect.objectContaining({ bucket: null, value: 1 }))
    await store.close()
  })

  it('keeps the first version when an event is repeated with other conversions', async () => {
    const store = await open()
    const claim = (n: number, amount: number) => ({
      selectorId: SELECTOR(n),
      amount,
      currency: 'EUR',
      quantity: null,
    })
    const first = anEnrichedEvent({ projectId: PROJECT(1), receivedAt: new Date(START).toISOString() })
    const event = { ...first, timestamp: new Date(START).toISOString(), conversions: [claim(1, 100)] }
    const revenue = () =>
      store.measureTrend({
        projectId: PROJECT(1),
        from: START,
        to: START + HOUR_MS,
        buckets: [START],
        metric: 'revenue',
        filters: [],
        maxGroups: 10,
        includeBots: false,
        breakdown: { source: 'selector' },
      })
    const stored = [START, null].map(() => expect.objectContaining({ group: SELECTOR(1), value: 100 }))
    await store.storeEvents([event, { ...event, conversions: [claim(2, 30)] }])
    expect(await revenue()).toEqual(stored)
    for (const conversions of [[claim(2, 20), claim(1, 7)], [], [claim(1, 100), claim(2, 5)]]) {
      await store.storeEvents([{ ...event, conversions }])
      expect(await revenue()).toEqual(stored)
    }
    await store.eraseEvents([{ projectId: PROJECT(1), eventKey: eventKeyOf(event.eventId) }])
    await store.storeEvents([{ ...event, conversions: [claim(2, 5)] }])
    expect(await revenue()).toEqual(stored)
    await store.close()
  })
}
