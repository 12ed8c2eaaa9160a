import {
  BOUNCE_MS,
  type GoalRow,
  type PageRow,
  type VisitField,
  type VisitRow,
  visitFields,
  type WebQuery,
} from '../store.ts'
import { hostText } from './channel-queries.ts'
import { createConditions } from './condition-queries.ts'
import {
  type DerivedDays,
  derivedTables,
  IS_TOUCHING,
  seenEvents,
  touchingParts,
  withDerivedDays,
} from './derived-visit-queries.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { columnsOfPart, joinedParts, type PartColumns, partsOfTracked } from './visit-part-queries.ts'

type Visits = {
  /** Common table expressions that end in `visits`: those that match the query, with `columns` and their fields. */
  tables: string[]
  parameters: Parameters
  bucket: ReturnType<Dialect['bucketOf']>
}

type Wanted = PartColumns & {
  /** Whether the fields of visits are needed, which take most of the memory. Filters of visits need them, too. */
  hasFields?: boolean
  /** Only visits of visitors with a conversion, which are few. */
  onlyConverted?: boolean
}

const visitsOf = (dialect: Dialect, query: WebQuery, days: DerivedDays, wanted: Wanted): Visits => {
  const shown = wanted.hasFields || query.visitFilters.length > 0 ? visitFields : []
  const columns: PartColumns = { ...wanted, views: shown.length > 0 }
  const parameters = dialect.parameters()
  const { textFulfils } = createConditions(dialect, parameters)
  const fields: Record<VisitField, string> = {
    channel: 'channel',
    source: `coalesce(utm_source, ${hostText('referrer_host')})`,
    campaign: 'campaign',
    entryPage: 'path',
    exitPage: 'exit_path',
    country: 'country',
    browser: 'browser',
    os: 'os',
    device: 'device',
  }
  const conditions = query.visitFilters.map(({ field, filter }) => textFulfils(columnOf(field), filter))
  const lists = [...(columns.paths ? ['paths'] : []), ...(columns.conversions ? ['conversions'] : [])]
  const tables = [
    ...visitedTables(dialect, query, days, parameters, columns, wanted.onlyConverted ?? false),
    `described AS (
      SELECT ${['visitor', 'began', 'duration', 'views', 'converted', ...lists].join(', ')},
        CASE WHEN views = 1 AND duration < ${BOUNCE_MS} THEN 1 ELSE 0 END AS bounce
        ${shown.map((field) => `, ${dialect.asText(`nullif(${fields[field]}, '')`)} AS ${columnOf(field)}`).join('')}
      FROM visited WHERE views > 0
    )`,
    `visits AS (SELECT * FROM described WHERE ${['true', ...conditions].join(' AND ')})`,
  ]
  return { tables, parameters, bucket: dialect.bucketOf('began', query.buckets, query.to) }
}

/** Common table expressions that end in `visited`: the visits with the columns of parts and their `duration` in ms. */
const visitedTables = (
  dialect: Dialect,
  query: WebQuery,
  days: DerivedDays,
  parameters: Parameters,
  columns: PartColumns,
  onlyConverted: boolean,
): string[] => {
  const kept = columnsOfPart(columns).filter((name) => !/^(first|last)_/.test(name))
  const duration = `${dialect.epochMs('ended')} - ${dialect.epochMs('began')} AS duration`
  const visited = `visitor, began, ${duration}, views, converted${kept.map((name) => `, ${name}`).join('')}`
  const isDerived = days.builds.length > 0
  // All parts of derived days have to be there to be joined, so that only their visits are few.
  const tracked =
    onlyConverted && !isDerived ? 'WHERE visitor IN (SELECT visitor FROM seen WHERE converts = 1)' : ''
  return [
    ...(isDerived ? derivedTables(dialect, query, days, parameters) : []),
    `seen ${dialect.inlined} (${seenEvents(dialect, query, days, parameters)})`,
    `tracked ${dialect.inlined} (SELECT * FROM seen ${tracked})`,
    ...partsOfTracked(dialect, columns),
    ...(isDerived
      ? [
          ...touchingParts(dialect, columns),
          ...joinedParts(dialect, columns),
          `visited AS (
            SELECT ${visited} FROM joined ${onlyConverted ? 'WHERE converted = 1' : ''}
            UNION ALL
            SELECT ${visited} FROM derived WHERE NOT (${IS_TOUCHING}) ${onlyConverted ? 'AND converted = 1' : ''}
          )`,
        ]
      : [`visited AS (SELECT ${visited} FROM parts WHERE is_matched = 1)`]),
  ]
}

/** The column of a field: `entry_page` of `entryPage`. */
const columnOf = (field: VisitField): string =>
  `of_${field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

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
export const measureVisits = (database: Database, query: WebQuery): Promise<VisitRow[]> =>
  withDerivedDays(database, query, async (days) => [
    ...(await measureTotals(database, query, days)),
    ...(query.limit > 0 ? await measureFields(database, query, days) : []),
  ])

const FIGURES = `count(*) AS visits, sum(views) AS views, sum(bounce) AS bounces, sum(duration) AS "durationMs",
        sum(converted) AS converted`
const NUMBERS = ['visits', 'views', 'bounces', 'durationMs', 'converted'] as const

const measureTotals = async (
  { dialect, query: run }: Database,
  query: WebQuery,
  days: DerivedDays,
): Promise<VisitRow[]> => {
  const { tables, parameters, bucket } = visitsOf(dialect, query, days, {})
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

const measureFields = async (
  { dialect, query: run }: Database,
  query: WebQuery,
  days: DerivedDays,
): Promise<VisitRow[]> => {
  const { tables, parameters } = visitsOf(dialect, query, days, { hasFields: true })
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
export const measurePages = (database: Database, query: WebQuery): Promise<PageRow[]> =>
  withDerivedDays(database, query, (days) => readPages(database, query, days))

const readPages = async (
  { dialect, query: run }: Database,
  query: WebQuery,
  days: DerivedDays,
): Promise<PageRow[]> => {
  const isFiltered = query.filters.length + query.visitFilters.length > 0
  const { tables, viewed, parameters } = isFiltered
    ? viewsOfVisits(dialect, query, days)
    : allViews(dialect, query, days)
  const text = `
    WITH ${tables.join(', ')}
    SELECT page AS path, count(DISTINCT visitor) AS visitors, count(*) AS views FROM (${viewed}) AS viewed
    GROUP BY page ORDER BY visitors DESC, views DESC, page LIMIT ${query.limit}`
  const rows = await run<Numbers<PageRow, 'visitors' | 'views'>>(query.projectId, text, parameters.bindings)
  return rows.map((row) => ({ path: valueIn(row.path), ...numbersIn(row, ['visitors', 'views']) }))
}

type Views = { tables: string[]; viewed: string; parameters: Parameters }

const viewsOfVisits = (dialect: Dialect, query: WebQuery, days: DerivedDays): Views => {
  const { tables, parameters } = visitsOf(dialect, query, days, { paths: true })
  return {
    tables,
    parameters,
    viewed: `SELECT visitor, ${dialect.eachOf('paths')} AS page FROM visits`,
  }
}

/** Each page view of a visitor is in a visit, so that without filters nothing of the visits is needed. */
const allViews = (dialect: Dialect, query: WebQuery, days: DerivedDays): Views => {
  const parameters = dialect.parameters()
  const isDerived = days.builds.length > 0
  const ofDerived = `
    UNION ALL
    SELECT coalesce(m.merged_into, derived.visitor) AS visitor, ${dialect.eachOf('derived.paths')} AS page
    FROM derived LEFT JOIN merges AS m ON m.profile_id = derived.visitor`
  return {
    tables: [
      ...(isDerived ? derivedTables(dialect, query, days, parameters) : []),
      `seen ${dialect.inlined} (${seenEvents(dialect, query, days, parameters)})`,
    ],
    viewed: `SELECT visitor, coalesce(path, '') AS page FROM seen WHERE is_view = 1 ${isDerived ? ofDerived : ''}`,
    parameters,
  }
}

/** Measures the conversions of visits. */
export const measureGoals = (database: Database, query: WebQuery): Promise<GoalRow[]> =>
  withDerivedDays(database, query, (days) => readGoals(database, query, days))

const readGoals = async (
  { dialect, query: run }: Database,
  query: WebQuery,
  days: DerivedDays,
): Promise<GoalRow[]> => {
  const { tables, parameters } = visitsOf(dialect, query, days, {
    hasFields: true,
    conversions: true,
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
