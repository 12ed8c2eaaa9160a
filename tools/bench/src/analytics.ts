import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { EventStore } from '@waymark/event-store'
import { migrateClickHouse, openClickHouseStore } from '@waymark/event-store/clickhouse'
import { createDuckDBStore, openDuckDBFile } from '@waymark/event-store/duckdb'
import { startClickHouse } from '@waymark/testing/servers'
import { clickhouseEvents, duckdbEvents, mergesOf, PROJECT, webEvents } from './analytics-data.ts'
import { measuredLists, measuredQueries } from './analytics-queries.ts'
import { cpuMicrosOf } from './measured-process.ts'

const EVENTS_AT_ONCE = 1_000_000
const WARM_UP_RUNS = 2
const MB = 1_000_000
/** The default memory limits of the stores. */
const DUCKDB = { memoryBytes: 512 * MB, threads: 2 }
const CLICKHOUSE = { database: 'waymark', queryMemoryBytes: 2_000 * MB }
/** Longer than any query may take, so that a slow one is still measured. */
const QUERY_TIMEOUT_MS = 300_000

type Filled = {
  store: EventStore
  bare: (sql: string) => Promise<unknown>
  bytes: number
  /** The process that runs the queries. */
  pid: number
  dispose: () => Promise<void>
}

/** Fills both event stores, or `only` one, runs each query through the API and by hand, and prints a table. */
export const measureAnalytics = async (
  events: number,
  runs: number,
  print: (line: string) => void,
  only?: string,
): Promise<void> => {
  print(
    '| store | events | query | p95 ms | CPU ms | ratio of times | ratio of CPU |\n| --- | --- | --- | --- | --- | --- | --- |',
  )
  const stores = { duckdb: fillDuckDB, clickhouse: fillClickHouse }
  const sizes: string[] = []
  for (const [name, fill] of Object.entries(stores)) {
    if (only !== undefined && only !== name) continue
    const { store, bare, bytes, pid, dispose } = await fill(events)
    // As many events belong to the visits of a site.
    sizes.push(`${name}: ${(bytes / (2 * events)).toFixed(0)} bytes an event on disk`)
    try {
      for (const query of measuredQueries) {
        const [ours, byHand]: [Run[], Run[]] = [[], []]
        const baseline = query.bare?.[name as keyof typeof stores]
        for (let run = -WARM_UP_RUNS; run < runs; run++) {
          const took = await measured(pid, () => query.run(store))
          if (run >= 0) ours.push(took)
          if (baseline === undefined) continue
          const tookByHand = await measured(pid, () => bare(baseline))
          if (run >= 0) byHand.push(tookByHand)
        }
        const pair = (of: keyof Run, share: number): string =>
          [ours, byHand].map((side) => shown(quantile(side, of, share), 0)).join(' / ')
        const ratio = (of: keyof Run): string => shown(quantile(byHand, of, 0.5) / quantile(ours, of, 0.5), 2)
        print(
          `| ${name} | ${events.toLocaleString('en')} | ${query.name} | ${pair('ms', 0.95)} | ${pair('cpuMs', 0.5)} | ${ratio('ms')} | ${ratio('cpuMs')} |`,
        )
      }
      for (const list of await measuredLists(store)) {
        const took: Run[] = []
        for (let run = -WARM_UP_RUNS; run < runs; run++) {
          const one = await measured(pid, list.run)
          if (run >= 0) took.push(one)
        }
        const [ms, cpuMs] = [quantile(took, 'ms', 0.95), quantile(took, 'cpuMs', 0.5)]
        print(
          `| ${name} | ${events.toLocaleString('en')} | ${list.name} | ${ms.toFixed(0)} | ${cpuMs.toFixed(0)} | | |`,
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
  for (const [from, to] of portionsOf(events)) await file.write([[webEvents('duckdb', events, from, to), []]])
  const store = createDuckDBStore(file)
  await deriveVisits(store)
  await file.query(PROJECT, 'CHECKPOINT', {})
  return {
    store,
    bare: (sql) => file.query(PROJECT, sql, {}),
    bytes: (await stat(place)).size,
    pid: process.pid,
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
    const settings = 'join_use_nulls=1&group_by_use_nulls=1'
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
  for (const [from, to] of portionsOf(events)) await bare(webEvents('clickhouse', events, from, to))
  const bytes = await bare(
    `SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'events' AND database = '${options.database}'`,
  )
  const store = openClickHouseStore(options)
  await deriveVisits(store)
  return {
    store,
    // Answers are read as rows, as those of DuckDB are.
    bare: async (sql) => {
      const lines = (await bare(`${sql} FORMAT JSONEachRow`)).trimEnd().split('\n')
      return lines.map((line): unknown => JSON.parse(line))
    },
    bytes: Number(bytes),
    pid: Number(execFileSync('docker', ['inspect', '--format', '{{.State.Pid}}', container.getId()])),
    dispose: async () => {
      await store.close()
      await container.stop({ timeout: 0 })
    },
  }
}

/** Derives the visits of all days, as a process does in the background. */
const deriveVisits = async (store: EventStore): Promise<void> => {
  const due = { endedBefore: Date.now(), changedBefore: 0 }
  while (await store.deriveVisits(due));
}

const portionsOf = (events: number): [number, number][] =>
  Array.from({ length: Math.ceil(events / EVENTS_AT_ONCE) }, (_, index) => [
    index * EVENTS_AT_ONCE,
    Math.min(events, (index + 1) * EVENTS_AT_ONCE),
  ])

type Run = { ms: number; cpuMs: number }

/** Runs a query, and measures its duration and the CPU time of the process that runs it. */
const measured = async (pid: number, work: () => Promise<unknown>): Promise<Run> => {
  const [cpuBefore, begunAt] = [await cpuMicrosOf(pid), performance.now()]
  await work()
  const ms = performance.now() - begunAt
  return { ms, cpuMs: ((await cpuMicrosOf(pid)) - cpuBefore) / 1_000 }
}

const shown = (value: number, digits: number): string => (Number.isNaN(value) ? '–' : value.toFixed(digits))

const quantile = (runs: readonly Run[], of: keyof Run, share: number): number =>
  runs.map((run) => run[of]).sort((a, b) => a - b)[
    Math.min(runs.length - 1, Math.floor(runs.length * share))
  ] ?? Number.NaN
