import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { AnalyticsQueries } from '@waymark/analytics'
import { migrateClickHouse, openClickHouseStore } from '@waymark/analytics/clickhouse'
import { createDuckDBStore, openDuckDBFile } from '@waymark/analytics/duckdb'
import { startClickHouse } from '@waymark/testing/servers'
import { clickhouseEvents, duckdbEvents, mergesOf, PROJECT } from './analytics-data.ts'
import { measuredQueries } from './analytics-queries.ts'

const EVENTS_AT_ONCE = 1_000_000
const WARM_UP_RUNS = 2
const MB = 1_000_000
/** The default memory limits of the stores. */
const DUCKDB = { memoryBytes: 512 * MB, threads: 2 }
const CLICKHOUSE = { database: 'waymark', queryMemoryBytes: 2_000 * MB }
/** Longer than any query may take, so that a slow one is still measured. */
const QUERY_TIMEOUT_MS = 300_000

type Filled = {
  store: AnalyticsQueries
  bare: (sql: string) => Promise<unknown>
  bytes: number
  dispose: () => Promise<void>
}

/** Fills both analytics stores, or `only` one, runs each query through the API and by hand, and prints a table. */
export const measureAnalytics = async (
  events: number,
  runs: number,
  print: (line: string) => void,
  only?: string,
): Promise<void> => {
  print(
    '| store | events | query | ours p95 ms | bare p95 ms | ratio |\n| --- | --- | --- | --- | --- | --- |',
  )
  const stores = { duckdb: fillDuckDB, clickhouse: fillClickHouse }
  const sizes: string[] = []
  for (const [name, fill] of Object.entries(stores)) {
    if (only !== undefined && only !== name) continue
    const { store, bare, bytes, dispose } = await fill(events)
    sizes.push(`${name}: ${(bytes / events).toFixed(0)} bytes an event on disk`)
    try {
      for (const query of measuredQueries) {
        const [ours, byHand]: [number[], number[]] = [[], []]
        for (let run = -WARM_UP_RUNS; run < runs; run++) {
          const took = [
            await timed(() => query.run(store)),
            await timed(() => bare(query.bare[name as keyof typeof stores])),
          ] as const
          if (run >= 0) {
            ours.push(took[0])
            byHand.push(took[1])
          }
        }
        const ratio = quantile(byHand, 0.5) / quantile(ours, 0.5)
        const [mine, hand] = [ours, byHand].map((times) => quantile(times, 0.95).toFixed(0))
        print(
          `| ${name} | ${events.toLocaleString('en')} | ${query.name} | ${mine} | ${hand} | ${ratio.toFixed(2)} |`,
        )
      }
    } finally {
      await dispose()
    }
  }
  print(`\n${sizes.join('\n')}`)
}

const fillDuckDB = async (events: number): Promise<Filled> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'waymark-bench-'))
  const place = path.join(folder, 'analytics.duckdb')
  const file = await openDuckDBFile({ path: place, ...DUCKDB, queryTimeoutMs: QUERY_TIMEOUT_MS })
  for (const [from, to] of portionsOf(events)) await file.write([[duckdbEvents(events, from, to), []]])
  await file.write([[mergesOf('duckdb', events), []]])
  await file.query(PROJECT, 'CHECKPOINT', {})
  const store = createDuckDBStore(file)
  return {
    store,
    bare: (sql) => file.query(PROJECT, sql, {}),
    bytes: (await stat(place)).size,
    dispose: async () => {
      await store.close()
      await rm(folder, { recursive: true })
    },
  }
}

const fillClickHouse = async (events: number): Promise<Filled> => {
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true'
  const { container, url } = await startClickHouse()
  const options = { url, ...CLICKHOUSE, queryTimeoutMs: QUERY_TIMEOUT_MS }
  await migrateClickHouse(options)
  const { origin, username, password } = new URL(url)
  const bare = async (sql: string): Promise<string> => {
    const settings = 'join_use_nulls=1&group_by_use_nulls=1&max_memory_usage=2000000000'
    const response = await fetch(`${origin}/?database=${options.database}&${settings}`, {
      method: 'POST',
      headers: { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password },
      body: sql,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }
  for (const [from, to] of portionsOf(events)) await bare(clickhouseEvents(events, from, to))
  await bare(mergesOf('clickhouse', events))
  const bytes = await bare(
    `SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'events' AND database = '${options.database}'`,
  )
  const store = openClickHouseStore(options)
  return {
    store,
    bare,
    bytes: Number(bytes),
    dispose: async () => {
      await store.close()
      await container.stop({ timeout: 0 })
    },
  }
}

const portionsOf = (events: number): [number, number][] =>
  Array.from({ length: Math.ceil(events / EVENTS_AT_ONCE) }, (_, place) => [
    place * EVENTS_AT_ONCE,
    Math.min(events, (place + 1) * EVENTS_AT_ONCE),
  ])

/** The duration in ms. */
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begunAt = performance.now()
  await work()
  return performance.now() - begunAt
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN
