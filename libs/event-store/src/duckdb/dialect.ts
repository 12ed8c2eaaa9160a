import type { Dialect, Parameters } from '../sql/dialect.ts'
import { uniformWidth } from '../sql/uniform-width.ts'
import { DAY_MS } from '../sql/visit-part-queries.ts'

const QUARTER_HOUR_MS = 15 * 60 * 1000

const createParameters = (): Parameters => {
  const bindings: Record<string, string | number> = {}
  const add = (value: string | number, type: string): string => {
    const name = `p${Object.keys(bindings).length}`
    bindings[name] = value
    return `$${name}::${type}`
  }
  return {
    text: (value) => add(value, 'VARCHAR'),
    number: (value) => add(value, 'DOUBLE'),
    uuid: (value) => add(value, 'UUID'),
    // Stored in lower case, as text.
    projectId: (value) => add(value.toLowerCase(), 'VARCHAR'),
    time: (ms) => add(new Date(ms).toISOString(), 'TIMESTAMP'),
    bindings,
  }
}

const TYPE_NAMES = `
  CASE json_type(member.value)
    WHEN 'VARCHAR' THEN 'string' WHEN 'BOOLEAN' THEN 'boolean' WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array'
    WHEN 'BIGINT' THEN 'number' WHEN 'UBIGINT' THEN 'number' WHEN 'DOUBLE' THEN 'number'
  END`

export const duckdbDialect: Dialect = {
  parameters: createParameters,
  events: 'events AS e',
  profiles: 'profiles',
  ofAnyVersion: '',
  materialized: 'AS MATERIALIZED',
  inlined: 'AS NOT MATERIALIZED',
  readsTablesOnce: true,
  nullText: 'NULL::VARCHAR',
  nullNumber: 'NULL::DOUBLE',
  json: (column, path, parameters) => {
    // A JSON pointer (RFC 6901), so that no key is interpreted as an expression.
    const pointerOf = (keys: readonly string[]): string =>
      keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
    // A pointer also enters lists, by index; a path only objects.
    const parents = path
      .map((key, depth) => (depth > 0 && /^\d+$/.test(key) ? pointerOf(path.slice(0, depth)) : ''))
      .filter((parent) => parent !== '')
      .map((parent) => `json_type(${column}, ${parameters.text(parent)}) = 'OBJECT'`)
    const source = parents.length === 0 ? column : `CASE WHEN ${parents.join(' AND ')} THEN ${column} END`
    const target = `${source}, ${parameters.text(pointerOf(path))}`
    const text = `json_extract_string(${target})`
    return {
      text,
      label: text,
      // In the JSON text a string keeps its quotes, so it is not a number.
      number: `TRY_CAST(json_extract(${target})::VARCHAR AS DOUBLE)`,
      isText: `json_type(${target}) = 'VARCHAR'`,
      isBoolean: `json_type(${target}) = 'BOOLEAN'`,
      exists: `coalesce(json_type(${target}) <> 'NULL', false)`,
    }
  },
  asText: (value) => `(${value})::VARCHAR`,
  asNumber: (value) => `(${value})::DOUBLE`,
  sortable: (uuid) => uuid,
  bit: (index) => `(1::BIGINT << (${index}))`,
  bitOr: (value) => `bit_or(${value})`,
  unnestBits: (value) => `JOIN range(63) AS bits (bit_index) ON (${value} >> bit_index) & 1 = 1`,
  moment: (ms, rank, uuid) => `row((${ms}) * 16 + ${rank}, ${uuid})`,
  lastMoment: `row(9223372036854775807, '00000000-0000-0000-0000-000000000000'::UUID)`,
  epochMs: (time) => `epoch_ms(${time})`,
  md5: (text) => `md5(${text})`,
  lower: (text) => `lower(${text})`,
  // Not by IN, for which DuckDB makes a join of each list, with a hash table of megabytes.
  isOneOf: (value, others) => `(${others.map((other) => `${value} = ${other}`).join(' OR ')})`,
  isPairIn: (values, table, columns) =>
    `(${values.join(', ')}) IN (SELECT (${columns.join(', ')}) FROM ${table})`,
  contains: (text, part) => `contains(${text}, ${part})`,
  startsWith: (text, part) => `starts_with(${text}, ${part})`,
  quantile: (value, share) => `quantile_cont(${value}, ${share})`,
  matches: (text, pattern) => `regexp_matches(${text}, '${pattern}')`,
  hashedUuid: (text) => `md5(${text})::UUID`,
  dayOf: (time) => `(epoch_ms(${time}) // ${DAY_MS})::INTEGER`,
  isInPart: (uuid, index, parts) => `hash(${uuid}) % ${parts} = ${index}`,
  record: (values) => `struct_pack(${values.map((value, index) => `m${index} := ${value}`).join(', ')})`,
  member: (record, index) => `struct_extract(${record}, 'm${index}')`,
  firstBy: (value, order) => `arg_min(${value}, ${order})`,
  lastBy: (value, order) => `arg_max(${value}, ${order})`,
  listOf: (value) => `list(${value})`,
  concatLists: (list) => `flatten(list(${list}))`,
  eachOf: (list) => `unnest(${list})`,
  unnestConversions: 'CROSS JOIN unnest(e.conversions) AS unnested (conversion)',
  members: (from, column) =>
    `(SELECT t, member.key AS key, ${TYPE_NAMES} AS type FROM ${from} CROSS JOIN json_each(${from}.${column}) AS member)`,
  listDistinct: (value) => `array_agg(DISTINCT ${value})`,
  // A table maps each quarter of an hour to its bucket, so that an event needs one look-up.
  bucketOf: (time, buckets, to) => {
    const width = uniformWidth(buckets, to)
    if (width !== undefined)
      return { index: `(epoch_ms(${time}) - ${buckets[0]}) // ${width}`, join: '', tables: [] }
    const begins = buckets.map((at) => Math.floor(at / QUARTER_HOUR_MS))
    const ends = [...begins.slice(1), Math.ceil(to / QUARTER_HOUR_MS)]
    return {
      index: 'quarter_hours.bucket',
      join: `JOIN quarter_hours ON quarter_hours.quarter = epoch_ms(${time}) // ${QUARTER_HOUR_MS}`,
      tables: [
        `bounds AS (
          SELECT unnest([${begins.join(', ')}]::BIGINT[]) AS first_quarter, unnest([${ends.join(', ')}]::BIGINT[]) AS end_quarter,
            unnest(range(${buckets.length})) AS bucket
        )`,
        'quarter_hours AS (SELECT unnest(range(first_quarter, end_quarter)) AS quarter, bucket FROM bounds)',
      ],
    }
  },
}
