/** A value that is bound to a statement, by its name in the statement's text. */
export type Bindings = Readonly<Record<string, string | number>>

/** Values of a statement, each bound and none written into its text. The methods answer the value's place holder. */
export type Parameters = {
  text(value: string): string
  number(value: number): string
  uuid(value: string): string
  /** A time in ms. */
  time(ms: number): string
  readonly bindings: Bindings
}

/** One member of a JSON column as SQL. Each expression may be NULL but `exists`. */
export type JsonMember = {
  /** The text of a string, the JSON of anything else. */
  text: string
  /** The number, NULL of anything else. */
  number: string
  isText: string
  isBoolean: string
  exists: string
}

/** What the two stores say differently. Everything else of a query is the same SQL. */
export type Dialect = {
  parameters(): Parameters
  /** The tables, with whatever it takes to read each row once. */
  events: string
  profiles: string
  /** Begins a common table expression that is read more than once. */
  materialized: string
  /** Whether a common table expression with `materialized` is run once, and not at each place that reads it. */
  readsTablesOnce: boolean
  nullText: string
  nullNumber: string
  json(column: string, path: readonly string[], parameters: Parameters): JsonMember
  /** Any value as text that may be NULL. */
  asText(value: string): string
  asNumber(value: string): string
  /** A UUID as something that is ordered by its bytes. */
  sortable(uuid: string): string
  /** A number that is ordered by `ms`, then by `rank` (0 to 15), then by the bytes of `uuid`. */
  moment(ms: string, rank: string, uuid: string): string
  /** A greater number than any `moment`. */
  lastMoment: string
  /** A time column in ms. */
  epochMs(time: string): string
  contains(text: string, part: string): string
  startsWith(text: string, part: string): string
  quantile(value: string, share: number): string
  /** Joins each row with its conversions, as `conversion`. */
  unnestConversions: string
  /** Joins each row of `from` with the keys of its JSON column, as `key` and `type` (as `PropertyRow` calls them). */
  members(from: string, column: string): string
  /** Groups of a type as one list. */
  listDistinct(value: string): string
  /**
   * Which of the buckets (ms, in order, each at a quarter of an hour) a time lies in: an expression for its place, a
   * join and common table expressions that it takes.
   */
  bucketOf(
    time: string,
    buckets: readonly number[],
    to: number,
  ): { place: string; join: string; tables: string[] }
}

/** Runs queries of a dialect. */
export type Database = {
  dialect: Dialect
  /**
   * Answers the rows of a query about a project.
   * @throws QueryTimeoutError when it takes too long, the signal's reason when that aborts
   */
  query<T>(projectId: string, text: string, bindings: Bindings, signal?: AbortSignal): Promise<T[]>
}
