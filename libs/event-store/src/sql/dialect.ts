/** A value bound to a statement, by its name in the text. */
export type Bindings = Readonly<Record<string, string | number>>

/** Binds the values of a statement. The methods return placeholders. */
export type Parameters = {
  text(value: string): string
  number(value: number): string
  uuid(value: string): string
  projectId(value: string): string
  /** A time in ms. */
  time(ms: number): string
  readonly bindings: Bindings
}

/** A member of a JSON column as SQL expressions. Each may be NULL except `exists`. */
export type JsonMember = {
  /** The text of a string, the JSON of other types. */
  text: string
  /** The same, NULL when it is missing or null. */
  label: string
  /** The number, NULL for other types. */
  number: string
  isText: string
  isBoolean: string
  exists: string
}

/** The differences between the SQL of the two stores. The rest of a query is the same. */
export type Dialect = {
  parameters(): Parameters
  /** The tables, read so that each row counts once. */
  events: string
  profiles: string
  /** Ends a query whose answer earlier versions of its rows do not change, which makes it faster. */
  ofAnyVersion: string
  /** Begins a common table expression that is read more than once. */
  materialized: string
  /** Begins a common table expression that is read again at each reference, where that is faster than to keep it. */
  inlined: string
  /** Whether a common table expression with `materialized` is run once, instead of at each reference. */
  readsTablesOnce: boolean
  nullText: string
  nullNumber: string
  json(column: string, path: readonly string[], parameters: Parameters): JsonMember
  /** Any value as nullable text. */
  asText(value: string): string
  asNumber(value: string): string
  /** A UUID as a value that is ordered by its bytes. */
  sortable(uuid: string): string
  /** The number in which only the bit with an index from 0 to 62 is set. */
  bit(index: string): string
  /** Aggregates numbers by OR of their bits. */
  bitOr(value: string): string
  /** Joins each row with the indexes of the bits that are set in a number, as `bit_index`. */
  unnestBits(value: string): string
  /** A number that is ordered by `ms`, then by `rank` (0 to 15), then by the bytes of `uuid`. */
  moment(ms: string, rank: string, uuid: string): string
  /** A greater number than any `moment`. */
  lastMoment: string
  /** A time column in ms. */
  epochMs(time: string): string
  /** Whether a value is one of at least one other. */
  isOneOf(value: string, others: readonly string[]): string
  /** Whether several values are those of some row of a table. */
  isPairIn(values: readonly string[], table: string, columns: readonly string[]): string
  contains(text: string, part: string): string
  /** The MD5 hash of a text, in hexadecimal digits. */
  md5(text: string): string
  /** A text in lower case, in every script. */
  lower(text: string): string
  startsWith(text: string, part: string): string
  quantile(value: string, share: number): string
  /** Whether a text matches a pattern of RE2, which is part of the text of the statement. */
  matches(text: string, pattern: string): string
  /** A UUID that is the hash of a text. */
  hashedUuid(text: string): string
  /** The day (UTC) of a time, as the number of days since 1970. */
  dayOf(time: string): string
  /** Whether a UUID is of a part of all, given its index and their number. */
  isInPart(uuid: string, index: number, parts: number): string
  /** Several values as one, which is never NULL. */
  record(values: readonly string[]): string
  /** The value of a record at an index from 0. */
  member(record: string, index: number): string
  /** Aggregates the value with the smallest, or the greatest, order. */
  firstBy(value: string, order: string): string
  lastBy(value: string, order: string): string
  /** Aggregates values into a list, or lists into one; without NULL. */
  listOf(value: string): string
  concatLists(list: string): string
  /** The members of a list, each in a row of its own. */
  eachOf(list: string): string
  /** Joins each row with its conversions, as `conversion`. */
  unnestConversions: string
  /** Joins each row of `from` with the keys of its JSON column, as `key` and `type` (as `PropertyRow` calls them). */
  members(from: string, column: string): string
  /** Aggregates the types of a group into a list. */
  listDistinct(value: string): string
  /**
   * The bucket of a time (buckets in ms, in order, each at a quarter of an hour): an expression for its index, and the
   * join and common table expressions that it needs.
   */
  bucketOf(
    time: string,
    buckets: readonly number[],
    to: number,
  ): { index: string; join: string; tables: string[] }
}

export type QueryOptions = {
  /** Stops the query. */
  signal?: AbortSignal | undefined
  /** Lists of events run beside reports, which may take long, and do not wait for them. */
  lane?: 'reports' | 'lists'
}

/** Runs queries of a dialect. */
export type Database = {
  dialect: Dialect
  /** A derived day may lack changes that are older than it by less than this, in µs; 0 by default. */
  changeMarginUs?: number
  /**
   * Returns the rows of a query on a project.
   * @throws QueryTimeoutError when it takes too long, the signal's reason when it aborts
   */
  query<T>(projectId: string, text: string, bindings: Bindings, options?: QueryOptions): Promise<T[]>
}
