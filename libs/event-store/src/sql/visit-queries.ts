import { type ChannelRule, channelRules, type Entry } from '@waymark/domain/analytics'
import {
  BOUNCE_MS,
  type GoalRow,
  type PageRow,
  VISIT_GAP_MS,
  type VisitField,
  type VisitRow,
  visitFields,
  type WebQuery,
} from '../store.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { eventsFrom, PERSON } from './table-queries.ts'

/** The event of a page view. */
const PAGE_VIEW = 'page_view'

/** What is kept of the first page view of a visit, by its index in a record. */
const ENTRY = [
  'path',
  'referrer_host',
  'utm_source',
  'utm_medium',
  'campaign',
  'click_id',
  'country',
  'browser',
  'os',
  'device',
] as const

/** A text without `www.` before it, in lower case. */
const hostText = (host: string): string =>
  `CASE WHEN ${host} LIKE 'www.%' THEN substring(${host}, 5) ELSE ${host} END`

type Parts = {
  /** Common table expressions that end in `visits`: those that match the query, with `columns` and their fields. */
  tables: string[]
  parameters: Parameters
  bucket: ReturnType<Dialect['bucketOf']>
}

type Wanted = {
  /** Aggregates of the events of a visit, by name. */
  columns?: Readonly<Record<string, string>>
  /** Whether the fields of visits are needed, which take most of the memory. Filters of visits need them, too. */
  hasFields?: boolean
  /** Only visits of visitors with a conversion, which are few. */
  onlyConverted?: boolean
}

const visitsOf = (
  dialect: Dialect,
  query: WebQuery,
  { columns = {}, hasFields = true, onlyConverted = false }: Wanted,
): Parts => {
  const shown = hasFields || query.visitFilters.length > 0 ? visitFields : []
  const parameters = dialect.parameters()
  const { allOf, textFulfils } = createConditions(dialect, parameters)
  const from = eventsFrom(dialect, query, parameters, {
    people: true,
    traits: needsTraits(query.filters.map(({ property }) => property)),
  })
  const visitor = `coalesce(${PERSON}, ${dialect.hashedUuid('e.visitor_id')})`
  const order = dialect.moment('ms', '0', 'event_key')
  const entry = (field: (typeof ENTRY)[number]): string => dialect.member('entry', ENTRY.indexOf(field))
  const ofViews = 'FILTER (WHERE is_view = 1)'
  const aggregates = `visitor, min(t) AS began, max(ms) - min(ms) AS duration, sum(is_view) AS views,
      max(converts) AS converted, max(matched) AS matched
      ${
        shown.length > 0
          ? `, ${dialect.firstBy(dialect.record(ENTRY), order)} ${ofViews} AS entry,
            ${dialect.lastBy(dialect.record(['path']), order)} ${ofViews} AS last_view`
          : ''
      }
      ${Object.entries(columns)
        .map(([name, aggregate]) => `, ${aggregate} AS ${name}`)
        .join('')}`
  const fields: Record<VisitField, string> = {
    channel: channelText(dialect, {
      click: entry('click_id'),
      source: `lower(${entry('utm_source')})`,
      medium: `lower(${entry('utm_medium')})`,
      campaign: entry('campaign'),
      host: hostText(entry('referrer_host')),
    }),
    source: `coalesce(${entry('utm_source')}, ${hostText(entry('referrer_host'))})`,
    campaign: entry('campaign'),
    entryPage: entry('path'),
    exitPage: dialect.member('last_view', 0),
    country: entry('country'),
    browser: entry('browser'),
    os: entry('os'),
    device: entry('device'),
  }
  const wanted = query.visitFilters.map(({ field, filter }) => textFulfils(columnOf(field), filter))
  const tables = [
    `seen ${dialect.inlined} (
      SELECT ${visitor} AS visitor, e.session_id AS session_name, e."time" AS t, ${dialect.epochMs('e."time"')} AS ms,
        e.event_key AS event_key,
        CASE WHEN e.event_name = '${PAGE_VIEW}' THEN 1 ELSE 0 END AS is_view,
        CASE WHEN length(e.conversions) > 0 THEN 1 ELSE 0 END AS converts, e.conversions AS conversions,
        CASE WHEN ${allOf(query.filters)} THEN 1 ELSE 0 END AS matched,
        ${ENTRY.map((name) => `${name === 'campaign' ? 'coalesce(e.link_campaign, e.utm_campaign)' : `e.${name}`} AS ${name}`).join(', ')}
      ${from} AND (e.profile_id IS NOT NULL OR e.visitor_id IS NOT NULL)
    )`,
    `tracked ${dialect.inlined} (
      SELECT * FROM seen
      ${onlyConverted ? 'WHERE visitor IN (SELECT visitor FROM seen WHERE converts = 1)' : ''}
    )`,
    `gaps AS (
      SELECT *, CASE WHEN ms - lag(ms) OVER (PARTITION BY visitor ORDER BY ${order}) <= ${VISIT_GAP_MS} THEN 0 ELSE 1 END
        AS begins
      FROM tracked WHERE session_name IS NULL
    )`,
    `counted AS (SELECT *, sum(begins) OVER (PARTITION BY visitor ORDER BY ${order}) AS visit FROM gaps)`,
    `visited AS (
      SELECT ${aggregates} FROM tracked WHERE session_name IS NOT NULL GROUP BY visitor, session_name
      UNION ALL SELECT ${aggregates} FROM counted GROUP BY visitor, visit
    )`,
    `described AS (
      SELECT visitor, began, duration, views, converted${Object.keys(columns)
        .map((name) => `, ${name}`)
        .join('')},
        CASE WHEN views = 1 AND duration < ${BOUNCE_MS} THEN 1 ELSE 0 END AS bounce
        ${shown.map((field) => `, ${dialect.asText(`nullif(${fields[field]}, '')`)} AS ${columnOf(field)}`).join('')}
      FROM visited WHERE views > 0 AND matched = 1
    )`,
    `visits AS (SELECT * FROM described WHERE ${['true', ...wanted].join(' AND ')})`,
  ]
  return { tables, parameters, bucket: dialect.bucketOf('began', query.buckets, query.to) }
}

/** The column of a field: `entry_page` of `entryPage`. */
const columnOf = (field: VisitField): string =>
  `of_${field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

/** Visits without a campaign, which are the most, need not be compared with the rules of campaigns. */
const channelText = (dialect: Dialect, entry: Record<keyof Entry, string>): string => {
  const campaign = `coalesce(${entry.source}, ${entry.medium}, ${entry.campaign}, ${entry.click})`
  const ofHost = channelRules.filter(({ field }) => field === 'host')
  return `CASE WHEN ${campaign} IS NOT NULL THEN ${firstMatch(dialect, channelRules, entry)}
    WHEN ${entry.host} IS NULL THEN 'direct' ELSE ${firstMatch(dialect, ofHost, entry)} END`
}

const firstMatch = (
  dialect: Dialect,
  rules: readonly ChannelRule[],
  entry: Record<keyof Entry, string>,
): string =>
  `CASE ${rules
    .map(({ channel, field, pattern }) =>
      pattern === '.'
        ? `WHEN ${entry[field]} <> '' THEN '${channel}'`
        : `WHEN ${dialect.matches(`coalesce(${entry[field]}, '')`, pattern)} THEN '${channel}'`,
    )
    .join(' ')} ELSE 'direct' END`

/** `CASE` that names the column of a grouping set: the only one that is not NULL, because others have no NULL. */
const kindOf = (columns: Readonly<Record<string, string>>, otherwise: string): string =>
  `CASE ${Object.entries(columns)
    .map(([kind, column]) => `WHEN ${column} IS NOT NULL THEN '${kind}'`)
    .join(' ')} ELSE '${otherwise}' END`

type Numbers<Row, Names extends keyof Row> = Omit<Row, Names> & Record<Names, bigint | number | null>

const numbersIn = <Row extends object, Name extends keyof Row>(row: Row, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, Number(row[name])])) as Record<Name, number>

const valueIn = (value: string | null): string | null => (value === '' ? null : value)

/** Measures visits: in all and by bucket, then by their fields, so that the visitors need not be kept for these. */
export const measureVisits = async (database: Database, query: WebQuery): Promise<VisitRow[]> => [
  ...(await measureTotals(database, query)),
  ...(query.limit > 0 ? await measureFields(database, query) : []),
]

const FIGURES = `count(*) AS visits, sum(views) AS views, sum(bounce) AS bounces, sum(duration) AS "durationMs",
        sum(converted) AS converted`
const NUMBERS = ['visits', 'views', 'bounces', 'durationMs', 'converted'] as const

const measureTotals = async ({ dialect, query: run }: Database, query: WebQuery): Promise<VisitRow[]> => {
  const { tables, parameters, bucket } = visitsOf(dialect, query, { hasFields: false })
  const text = `
    WITH ${[...bucket.tables, ...tables].join(', ')},
    valued AS (
      SELECT visitor, duration, views, bounce, converted, ${bucket.index} AS bucket FROM visits ${bucket.join}
    ),
    grouped AS (
      SELECT bucket, count(DISTINCT visitor) AS visitors, ${FIGURES} FROM valued GROUP BY GROUPING SETS ((), (bucket))
    )
    SELECT ${dialect.asText('bucket')} AS value, * FROM grouped WHERE visits > 0`
  const rows = await run<Numbers<VisitRow, 'visitors' | (typeof NUMBERS)[number]>>(
    query.projectId,
    text,
    parameters.bindings,
  )
  return rows.map((row) => ({
    kind: row.value === null ? 'total' : 'bucket',
    value: row.value,
    ...numbersIn(row, ['visitors', ...NUMBERS]),
  }))
}

const measureFields = async ({ dialect, query: run }: Database, query: WebQuery): Promise<VisitRow[]> => {
  const { tables, parameters } = visitsOf(dialect, query, {})
  const columns = Object.fromEntries(visitFields.map((field) => [field, columnOf(field)]))
  const names = Object.values(columns)
  const text = `
    WITH ${tables.join(', ')},
    valued AS (
      SELECT duration, views, bounce, converted,
        ${names.map((column) => `coalesce(${column}, '') AS ${column}`).join(', ')}
      FROM visits
    ),
    grouped AS (
      SELECT ${kindOf(columns, 'channel')} AS kind, coalesce(${names.join(', ')}) AS value, ${FIGURES}
      FROM valued GROUP BY GROUPING SETS (${names.map((column) => `(${column})`).join(', ')})
    )
    SELECT * FROM grouped
    QUALIFY row_number() OVER (PARTITION BY kind ORDER BY visits DESC, value) <= ${query.limit}`
  const rows = await run<Numbers<VisitRow, (typeof NUMBERS)[number]>>(
    query.projectId,
    text,
    parameters.bindings,
  )
  return rows.map((row) => ({
    kind: row.kind,
    value: valueIn(row.value),
    visitors: null,
    ...numbersIn(row, NUMBERS),
  }))
}

/** Measures the pages of visits. */
export const measurePages = async (
  { dialect, query: run }: Database,
  query: WebQuery,
): Promise<PageRow[]> => {
  const paths = `coalesce(path, '')`
  const isFiltered = query.filters.length + query.visitFilters.length > 0
  // Each page view of a visitor is in a visit, so that without filters nothing of the visits is needed.
  const { tables, parameters } = visitsOf(
    dialect,
    query,
    isFiltered
      ? { columns: { paths: `${dialect.listOf(paths)} FILTER (WHERE is_view = 1)` }, hasFields: false }
      : {},
  )
  const viewed = isFiltered
    ? `SELECT visitor, page FROM visits ${dialect.unnest('visits.paths', 'page')}`
    : `SELECT visitor, ${paths} AS page FROM seen WHERE is_view = 1`
  const text = `
    WITH ${(isFiltered ? tables : tables.slice(0, 1)).join(', ')}
    SELECT page AS path, count(DISTINCT visitor) AS visitors, count(*) AS views FROM (${viewed}) AS viewed
    GROUP BY page ORDER BY visitors DESC, views DESC, page LIMIT ${query.limit}`
  const rows = await run<Numbers<PageRow, 'visitors' | 'views'>>(query.projectId, text, parameters.bindings)
  return rows.map((row) => ({ path: valueIn(row.path), ...numbersIn(row, ['visitors', 'views']) }))
}

/** Measures the conversions of visits. */
export const measureGoals = async (
  { dialect, query: run }: Database,
  query: WebQuery,
): Promise<GoalRow[]> => {
  const { tables, parameters } = visitsOf(dialect, query, {
    columns: { conversions: dialect.concatLists('conversions') },
    onlyConverted: true,
  })
  const columns = {
    selector: 'selector',
    channel: 'of_channel',
    source: 'of_source',
    campaign: 'of_campaign',
  }
  const text = `
    WITH ${tables.join(', ')},
    numbered AS (
      SELECT row_number() OVER (ORDER BY visitor, began) AS visit, conversions, of_channel, of_source, of_campaign
      FROM visits WHERE converted = 1
    ),
    valued AS (
      SELECT visit, ${dialect.asText('conversion.selector_id')} AS selector,
        coalesce(${dialect.asText('conversion.currency')}, '') AS currency, conversion.amount AS amount,
        coalesce(of_channel, '') AS of_channel, coalesce(of_source, '') AS of_source,
        coalesce(of_campaign, '') AS of_campaign
      FROM numbered AS e ${dialect.unnestConversions}
    )
    SELECT ${kindOf(columns, 'selector')} AS kind, coalesce(${Object.values(columns).join(', ')}) AS value, currency,
      count(*) AS conversions, count(DISTINCT visit) AS visits,
      coalesce(sum(${dialect.asNumber('amount')}), 0) AS amount
    FROM valued GROUP BY GROUPING SETS ((selector), ${Object.values(columns)
      .map((column) => `(${column}, currency)`)
      .join(', ')})
    ORDER BY kind, conversions DESC, value, currency LIMIT ${MAX_GOAL_ROWS}`
  const rows = await run<Numbers<GoalRow, 'conversions' | 'visits' | 'amount'>>(
    query.projectId,
    text,
    parameters.bindings,
  )
  return rows
    .filter(({ currency }) => currency !== '')
    .map((row) => ({
      kind: row.kind,
      value: valueIn(row.value),
      currency: row.currency,
      ...numbersIn(row, ['conversions', 'visits', 'amount']),
    }))
}

/** Of sources and campaigns, of which there can be very many. */
const MAX_GOAL_ROWS = 10_000
