import type { Dialect, Parameters } from '../sql/dialect.ts'
import { uniformWidth } from '../sql/uniform-width.ts'
import { DAY_MS } from '../sql/visit-part-queries.ts'

/** A time in ms as a value of a parameter. */
export const timeText = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').replace('Z', '')

const createParameters = (): Parameters => {
  const bindings: Record<string, string | number> = {}
  const add = (value: string | number, type: string): string => {
    const name = `p${Object.keys(bindings).length}`
    bindings[name] = value
    return `{${name}:${type}}`
  }
  return {
    text: (value) => add(value, 'String'),
    number: (value) => add(value, 'Float64'),
    uuid: (value) => add(value, 'UUID'),
    projectId: (value) => add(value, 'UUID'),
    time: (ms) => add(timeText(ms), "DateTime64(3, 'UTC')"),
    bindings,
  }
}

/** The type of a JSON value by its first character: ClickHouse takes huge integers for strings. */
const TYPE_NAMES = `transform(substring(pair.2, 1, 1),
  ['"', '{', '[', 't', 'f', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'],
  ['string', 'object', 'array', 'boolean', 'boolean', ${Array(11).fill(`'number'`).join(', ')}], NULL)`

export const clickhouseDialect: Dialect = {
  parameters: createParameters,
  events: 'events AS e',
  profiles: 'profiles',
  ofAnyVersion: 'SETTINGS final = 0',
  materialized: 'AS',
  inlined: 'AS',
  readsTablesOnce: false,
  nullText: 'CAST(NULL AS Nullable(String))',
  nullNumber: 'CAST(NULL AS Nullable(Float64))',
  json: (column, path, parameters) => {
    const keys = [column, ...path.map((key) => parameters.text(key))].join(', ')
    // Read once, because each JSON function parses the whole document again.
    const raw = `JSONExtractRaw(${keys})`
    return {
      text: `if(startsWith(${raw}, '"'), JSONExtractString(${raw}), ${raw})`,
      label: `JSONExtract(${keys}, 'Nullable(String)')`,
      number: `if(match(${raw}, '^[-0-9]'), JSONExtractFloat(${raw}), NULL)`,
      isText: `startsWith(${raw}, '"')`,
      isBoolean: `${raw} IN ('true', 'false')`,
      exists: `${raw} NOT IN ('', 'null')`,
    }
  },
  asText: (value) => `CAST(${value} AS Nullable(String))`,
  asNumber: (value) => `CAST(${value} AS Nullable(Float64))`,
  // ClickHouse compares UUIDs by their second half first, but their bytes in order.
  sortable: (uuid) => `toUInt128(${uuid})`,
  bit: (index) => `bitShiftLeft(toInt64(1), ${index})`,
  bitOr: (value) => `groupBitOr(${value})`,
  unnestBits: (value) => `ARRAY JOIN bitPositionsToArray(${value}) AS bit_index`,
  moment: (ms, rank, uuid) =>
    `bitOr(bitShiftLeft(toUInt256((${ms}) * 16 + ${rank}), 128), toUInt256(toUInt128(${uuid})))`,
  lastMoment: 'bitShiftLeft(toUInt256(1), 255)',
  epochMs: (time) => `toUnixTimestamp64Milli(${time})`,
  md5: (text) => `lower(hex(MD5(${text})))`,
  lower: (text) => `lowerUTF8(${text})`,
  // Names the value once, because the length of a statement is limited.
  isOneOf: (value, others) => `${value} IN (${others.join(', ')})`,
  isPairIn: (values, table, columns) =>
    `(${values.join(', ')}) IN (SELECT ${columns.join(', ')} FROM ${table})`,
  contains: (text, part) => `position(${text}, ${part}) > 0`,
  startsWith: (text, part) => `startsWith(${text}, ${part})`,
  quantile: (value, share) => `quantileExactInclusive(${share})(${value})`,
  matches: (text, pattern) => `match(${text}, '${pattern.replaceAll('\\', '\\\\')}')`,
  hashedUuid: (text) => `reinterpretAsUUID(MD5(${text}))`,
  dayOf: (time) => `toInt32(intDiv(toUnixTimestamp64Milli(${time}), ${DAY_MS}))`,
  isInPart: (uuid, index, parts) => `cityHash64(${uuid}) % ${parts} = ${index}`,
  record: (values) => `tuple(${values.join(', ')})`,
  member: (record, index) => `tupleElement(${record}, ${index + 1})`,
  firstBy: (value, order) => `argMin(${value}, ${order})`,
  lastBy: (value, order) => `argMax(${value}, ${order})`,
  listOf: (value) => `groupArray(${value})`,
  concatLists: (list) => `groupArrayArray(${list})`,
  eachOf: (list) => `arrayJoin(${list})`,
  unnestConversions: 'ARRAY JOIN e.conversions AS conversion',
  members: (from, column) =>
    `(SELECT t, pair.1 AS key, ${TYPE_NAMES} AS type FROM ${from}
      ARRAY JOIN JSONExtractKeysAndValuesRaw(${from}.${column}) AS pair)`,
  listDistinct: (value) => `groupUniqArray(${value})`,
  bucketOf: (time, buckets, to) => {
    const width = uniformWidth(buckets, to)
    if (width !== undefined)
      return {
        index: `intDiv(toUnixTimestamp64Milli(${time}) - ${buckets[0]}, ${width})`,
        join: '',
        tables: [],
      }
    const begins = `[${buckets.join(', ')}]::Array(Int64)`
    const indexes = `[${buckets.map((_, index) => index).join(', ')}]::Array(Int64)`
    return {
      index: `transform(roundDown(toUnixTimestamp64Milli(${time}), ${begins}), ${begins}, ${indexes})`,
      join: '',
      tables: [],
    }
  },
}
