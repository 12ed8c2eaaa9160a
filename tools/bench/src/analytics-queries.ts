import { randomUUID } from 'node:crypto'
import type { PropertyRef } from '@waymark/domain/analytics'
import type { EventQueries, EventStore, EventsQuery, StoredEvent } from '@waymark/event-store'
import { DAY_MS, DAYS, FROM, PROJECT, WEB_DAYS, WEB_PROJECT } from './analytics-data.ts'

const range = { projectId: PROJECT, from: FROM, to: FROM + DAYS * DAY_MS }
const days = Array.from({ length: DAYS + 1 }, (_, day) => FROM + day * DAY_MS)
const buckets = days.slice(0, -1)
const plan: PropertyRef = { source: 'properties', path: ['plan'] }
const STEPS = ['event 1', 'event 2', 'event 3']
const WINDOW_MS = 7 * DAY_MS
/** Later than all events. */
const NEVER = Date.parse('2100-01-01T00:00:00Z')

const trend = { ...range, buckets, filters: [], maxGroups: 10, includeBots: false }

const webDays = (from: number) => ({
  from,
  to: from + DAYS * DAY_MS,
  buckets: Array.from({ length: DAYS }, (_, day) => from + day * DAY_MS),
})
/** The last days of the site, and those before, with which they are compared. */
const web = {
  projectId: WEB_PROJECT,
  ...webDays(FROM + (WEB_DAYS - DAYS) * DAY_MS),
  filters: [],
  visitFilters: [],
  limit: 10,
}
const before = webDays(web.from - DAYS * DAY_MS)

/** What visits are grouped by, besides their day and exit page, as of their first event. */
const VISIT_COLUMNS = [
  ...[
    'path',
    'referrer_host',
    'utm_source',
    'utm_medium',
    'utm_campaign',
    'country',
    'browser',
    'os',
    'device',
  ],
]

type Statements = Record<'duckdb' | 'clickhouse', string>

/** A query of the API, and the same query written by hand for each store; some have no such baseline. */
export type MeasuredQuery = {
  name: string
  run: (store: EventQueries) => Promise<unknown>
  bare: Statements | undefined
}

/** A statement in the dialects of both stores. */
const inBoth = (write: (store: (typeof stores)['duckdb']) => string): Statements => ({
  duckdb: write(stores.duckdb),
  clickhouse: write(stores.clickhouse),
})

const stores = {
  duckdb: {
    events: 'events e',
    profiles: 'profiles',
    day: `date_trunc('day', e."time")`,
    at: (ms: number) => `TIMESTAMP '${new Date(ms).toISOString().slice(0, 19)}'`,
    plan: `json_extract_string(e.properties, '/plan')`,
    within: (after: string, time: string) => `${time} <= ${after} + INTERVAL 7 DAYS`,
    seconds: (from: string, to: string) => `epoch(${to}) - epoch(${from})`,
    daysBetween: (from: string, to: string) => `date_diff('day', ${from}, ${to})`,
    firstOf: (value: string) => `arg_min(${value}, e."time")`,
    lastOf: (value: string) => `arg_max(${value}, e."time")`,
  },
  // Hand-written queries must ignore repeated rows, too.
  clickhouse: {
    events: 'events e FINAL',
    profiles: 'profiles FINAL',
    day: 'toStartOfDay(e."time")',
    at: (ms: number) => `toDateTime64('${new Date(ms).toISOString().slice(0, 19)}', 3, 'UTC')`,
    plan: `JSONExtractString(e.properties, 'plan')`,
    within: (after: string, time: string) => `${time} <= ${after} + INTERVAL 7 DAY`,
    seconds: (from: string, to: string) => `toFloat64(${to}) - toFloat64(${from})`,
    daysBetween: (from: string, to: string) => `dateDiff('day', ${from}, ${to})`,
    firstOf: (value: string) => `argMin(${value}, e."time")`,
    lastOf: (value: string) => `argMax(${value}, e."time")`,
  },
}

const PERSON = `coalesce(m.merged_into, e.profile_id)`
const merges = ({ profiles }: (typeof stores)['duckdb']): string =>
  `LEFT JOIN (SELECT profile_id, merged_into FROM ${profiles} WHERE project_id = '${PROJECT}') m ON m.profile_id = e.profile_id`
const where = ({ at }: (typeof stores)['duckdb'], to = range.to): string =>
  `e.project_id = '${PROJECT}' AND e."time" >= ${at(range.from)} AND e."time" < ${at(to)} AND NOT e.bot AND NOT e.erased`

export const measuredQueries: readonly MeasuredQuery[] = [
  {
    name: 'trend',
    run: (store) => store.measureTrend({ ...trend, metric: 'people' }),
    bare: inBoth(
      (store) => `
        SELECT ${store.day} AS day, count(DISTINCT ${PERSON}) FROM ${store.events} ${merges(store)}
        WHERE ${where(store)} GROUP BY GROUPING SETS ((day), ())`,
    ),
  },
  {
    name: 'breakdown',
    run: (store) => store.measureTrend({ ...trend, metric: 'events', eventName: 'event 1', breakdown: plan }),
    bare: inBoth(
      (store) => `
        SELECT ${store.day} AS day, ${store.plan} AS plan, count(*) FROM ${store.events}
        WHERE ${where(store)} AND e.event_name = 'event 1' GROUP BY GROUPING SETS ((day, plan), (plan))`,
    ),
  },
  {
    name: 'funnel',
    run: (store) =>
      store.measureFunnel({
        ...range,
        steps: STEPS.map((eventName) => ({ eventName, filters: [] })),
        windowMs: WINDOW_MS,
        order: 'ordered',
        maxGroups: 10,
      }),
    bare: inBoth(
      (store) => `
        WITH seen AS (
          SELECT ${PERSON} AS person, e.event_name AS event_name, e."time" AS t FROM ${store.events} ${merges(store)}
          WHERE ${where(store, range.to + WINDOW_MS)} AND e.event_name IN ('${STEPS.join("', '")}')
        ),
        attempts AS (
          SELECT a.person AS person, a.t AS t0, b.t AS t1, c.t AS t2
          FROM (SELECT person, t FROM seen WHERE event_name = '${STEPS[0]}' AND t < ${store.at(range.to)}) a
          ASOF LEFT JOIN (SELECT person, t FROM seen WHERE event_name = '${STEPS[1]}') b
            ON b.person = a.person AND b.t > a.t
          ASOF LEFT JOIN (SELECT person, t FROM seen WHERE event_name = '${STEPS[2]}') c
            ON c.person = a.person AND c.t > coalesce(b.t, ${store.at(NEVER)})
        ),
        reached AS (
          SELECT *, CASE WHEN ${store.within('t0', 't2')} THEN 3 WHEN ${store.within('t0', 't1')} THEN 2 ELSE 1 END AS level
          FROM attempts
        ),
        best AS (
          SELECT * FROM reached QUALIFY row_number() OVER (PARTITION BY person ORDER BY level DESC, t0) = 1
        )
        SELECT count(*), count(*) FILTER (WHERE level > 1), count(*) FILTER (WHERE level > 2),
          median(${store.seconds('t0', 't1')}) FILTER (WHERE level > 1),
          median(${store.seconds('t1', 't2')}) FILTER (WHERE level > 2)
        FROM best`,
    ),
  },
  {
    name: 'retention',
    run: (store) =>
      store.measureRetention({
        ...range,
        startEvent: 'event 1',
        returnEvent: 'event 2',
        bounds: [...days, range.to + DAY_MS],
        cohorts: DAYS,
        periods: DAYS,
      }),
    bare: inBoth(
      (store) => `
        WITH seen AS (
          SELECT ${PERSON} AS person, e.event_name AS event_name, e."time" AS t, ${store.day} AS day
          FROM ${store.events} ${merges(store)}
          WHERE ${where(store, range.to + DAY_MS)} AND e.event_name IN ('event 1', 'event 2')
        ),
        first AS (
          SELECT person, min(t) AS t0, min(day) AS cohort FROM seen
          WHERE event_name = 'event 1' AND t < ${store.at(range.to)} GROUP BY person
        )
        SELECT cohort, -1 AS period, count(*) AS people FROM first GROUP BY cohort
        UNION ALL
        SELECT f.cohort AS cohort, ${store.daysBetween('f.cohort', 's.day')} AS period, count(DISTINCT f.person) AS people
        FROM first f JOIN seen s ON s.person = f.person
        WHERE s.event_name = 'event 2' AND s.t >= f.t0 GROUP BY cohort, period`,
    ),
  },
  {
    name: 'visits',
    run: (store) => store.measureVisits(web),
    bare: inBoth(
      (store) => `
        WITH visits AS (
          SELECT e.profile_id AS visitor, e.session_id AS session, min(${store.day}) AS day, min(e."time") AS began,
            max(e."time") AS ended, sum(CASE WHEN e.event_name = 'page_view' THEN 1 ELSE 0 END) AS views,
            ${store.lastOf('e.path')} AS exit_page,
            ${VISIT_COLUMNS.map((name) => `${store.firstOf(`e.${name}`)} AS first_${name}`).join(', ')}
          FROM ${store.events}
          WHERE e.project_id = '${WEB_PROJECT}' AND e."time" >= ${store.at(web.from)} AND e."time" < ${store.at(web.to)}
            AND NOT e.bot AND NOT e.erased
          GROUP BY visitor, session
        )
        SELECT day, exit_page, ${VISIT_COLUMNS.map((name) => `first_${name}`).join(', ')}, count(DISTINCT visitor), count(*),
          sum(views), sum(${store.seconds('began', 'ended')})
        FROM visits GROUP BY GROUPING SETS (${['', 'day', 'exit_page', ...VISIT_COLUMNS.map((name) => `first_${name}`)].map((name) => `(${name})`).join(', ')})`,
    ),
  },
  {
    // What `POST analytics/web` asks for, compared with the range before.
    name: 'web',
    run: async (store) => {
      await store.measureVisits(web)
      await store.measurePages(web)
      await store.measureGoals(web)
      await store.measureVisits({ ...web, ...before, limit: 0 })
    },
    bare: undefined,
  },
]

const LIST_LENGTH = 100

/** A look-up of events, which has no equal by hand. */
export type MeasuredList = { name: string; run: () => Promise<unknown> }

/** Reads the newest events that match, up to a list's length. */
const readList = async (store: EventQueries, query: Partial<EventsQuery>): Promise<StoredEvent[]> => {
  const found: StoredEvent[] = []
  const portion = () => LIST_LENGTH - found.length
  for await (const { events } of store.readEvents({ projectId: PROJECT, ...query, portion })) {
    found.push(...events)
    if (found.length >= LIST_LENGTH) break
  }
  return found
}

/** The lists that pages of the console show, and look-ups by id. */
export const measuredLists = async (store: EventStore): Promise<MeasuredList[]> => {
  const newest = await readList(store, {})
  const [event] = newest
  if (!event) throw new Error('There are no events')
  const eventKeys = [event.eventKey]
  const receivedAt = Date.parse(event.receivedAt)
  const people = Map.groupBy(newest, ({ profileId }) => profileId ?? '')
  const [busy = ''] = [...people.keys()].sort(
    (a, b) => (people.get(b)?.length ?? 0) - (people.get(a)?.length ?? 0),
  )
  const below = { receivedAt: receivedAt + 1 }
  return [
    { name: 'newest 100', run: () => readList(store, { below }) },
    { name: 'newest 100 after a pause', run: () => readList(store, {}) },
    { name: 'newest 100 of a busy person', run: () => readList(store, { profileIds: [busy] }) },
    {
      name: 'newest 100 of a person without events',
      run: () => readList(store, { profileIds: [randomUUID()] }),
    },
    {
      name: 'an event by its id and receipt',
      run: () => readList(store, { eventKeys, below, receivedFrom: receivedAt }),
    },
    { name: 'an event by its id alone', run: () => readList(store, { eventKeys }) },
    {
      name: 'the name of an event by its id',
      run: () => store.findEventNames([{ projectId: PROJECT, eventKey: event.eventKey }]),
    },
  ]
}
