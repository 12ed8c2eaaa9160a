import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client'
import type { Bindings, QueryOptions } from '../sql/dialect.ts'
import { createQueries } from '../sql/queries.ts'
import {
  type EventStore,
  EventStoreDataError,
  EventStoreUnavailableError,
  QueryTimeoutError,
} from '../store.ts'
import { clickhouseDialect } from './dialect.ts'
import { readRows } from './read-rows.ts'
import { type ClickHouseLayout, createDatabase, migrationsOf } from './schema-queries.ts'
import { createWrites } from './write-queries.ts'

export type ClickHouseOptions = {
  /** The URL of the HTTP interface with credentials: `https://waymark:secret@clickhouse:8443`. */
  url: string
  /** Certificates in PEM, for an `https` URL. */
  tls?: { ca: string; cert?: string; key?: string } | undefined
  database: string
  /** Timeout of a query, in ms. */
  queryTimeoutMs: number
  /** Memory of one query, in bytes. */
  queryMemoryBytes: number
  /** How far the clocks of servers may differ and replicas lag while visits are derived, in ms; 10 minutes by default. */
  visitMarginMs?: number
}

const DEFAULT_VISIT_MARGIN_MS = 10 * 60 * 1_000

/** Timeout of a write, in ms, including the batching of inserts by the server. */
const WRITE_TIMEOUT_MS = 30_000
const MAX_CONNECTIONS = 32

/** The error codes for values that cannot be parsed, are out of range or of another type. */
const REFUSED_VALUES = new Set(['6', '25', '26', '27', '38', '41', '53', '69', '70', '72', '117'])

/** TIMEOUT_EXCEEDED, TOO_SLOW and MEMORY_LIMIT_EXCEEDED: a shorter range avoids each. */
const TOO_MUCH = new Set(['159', '160', '241'])

/** The settings of every statement. */
export const SETTINGS: ClickHouseSettings = {
  // Each row once, whether or not its versions are merged.
  final: 1,
  // Versions of a row have the same time, so they are in the same partition.
  do_not_merge_across_partitions_select_final: 1,
  // Skipping parts of the table must not skip another version of a row.
  use_skip_indexes_if_final: 1,
  use_skip_indexes_if_final_exact_mode: 1,
  // NULL semantics of standard SQL, as in DuckDB.
  join_use_nulls: 1,
  group_by_use_nulls: 1,
  date_time_input_format: 'best_effort',
  async_insert: 1,
  wait_for_async_insert: 1,
  // A batch of a backfill may contain many months.
  max_partitions_per_insert_block: '1000',
}

const pem = (text: string): Buffer => Buffer.from(text)

const connect = ({ url, tls, database, queryTimeoutMs }: ClickHouseOptions): ClickHouseClient =>
  createClient({
    url,
    database,
    ...(tls && {
      tls: {
        ca_cert: pem(tls.ca),
        ...(tls.cert && tls.key && { cert: pem(tls.cert), key: pem(tls.key) }),
      },
    }),
    request_timeout: Math.max(WRITE_TIMEOUT_MS, queryTimeoutMs + 5_000),
    max_open_connections: MAX_CONNECTIONS,
    // Errors are thrown, and the caller logs them.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: SETTINGS,
  })

/** The event store in ClickHouse. Its tables must exist: see `migrateClickHouse`. */
export const openClickHouseStore = (options: ClickHouseOptions): EventStore => {
  const { visitMarginMs = DEFAULT_VISIT_MARGIN_MS } = options
  const client = connect(options)
  // Connections of their own, because reports may use all others.
  const lists = connect(options)
  const clients = { reports: client, lists }
  const limits = {
    max_execution_time: options.queryTimeoutMs / 1_000,
    max_memory_usage: `${options.queryMemoryBytes}`,
    // The server stops a query whose connection is closed only if that query can change nothing.
    readonly: '2',
    cancel_http_readonly_queries_on_client_close: 1 as const,
  }
  const query = async <T>(
    _projectId: string,
    text: string,
    bindings: Bindings,
    { signal, lane = 'reports' }: QueryOptions = {},
  ): Promise<T[]> => {
    signal?.throwIfAborted()
    try {
      return await readRows<T>(clients[lane], {
        query: text,
        query_params: bindings,
        clickhouse_settings: limits,
        ...(signal && { abort_signal: signal }),
      })
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof ClickHouseError && TOO_MUCH.has(error.code))
        throw new QueryTimeoutError('The query took too long', { cause: error })
      throw new EventStoreUnavailableError('ClickHouse could not answer', { cause: error })
    }
  }
  const database = { dialect: clickhouseDialect, query, changeMarginUs: visitMarginMs * 1_000 }
  return {
    ...createWrites(client, database, writeError),
    ...createQueries(database),
    close: async () => {
      await Promise.all([client.close(), lists.close()])
    },
  }
}

const writeError = (error: unknown): Error =>
  error instanceof ClickHouseError && REFUSED_VALUES.has(error.code)
    ? new EventStoreDataError('ClickHouse refuses a value', { cause: error })
    : new EventStoreUnavailableError('ClickHouse could not write', { cause: error })

/** Migrates the database, and creates it if it does not exist. Only one process at a time may call it. */
export const migrateClickHouse = async (
  options: ClickHouseOptions,
  layout: ClickHouseLayout = {},
): Promise<void> => {
  const server = connect({ ...options, database: 'default' })
  const client = connect(options)
  try {
    await server.command({
      query: createDatabase(layout),
      query_params: { name: options.database },
    })
    for (const statement of migrationsOf(layout)) await client.command({ query: statement })
  } finally {
    await Promise.all([server.close(), client.close()])
  }
}
