import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { anEnrichedEvent, extent, PATIENCE_MS, startProcess } from '@waymark/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { duckdbDialect } from '../src/duckdb/dialect.ts'
import { createDuckDBStore, openDuckDBFile, openDuckDBStore } from '../src/duckdb/index.ts'
import { migrations } from '../src/duckdb/schema-queries.ts'
import type { Database } from '../src/sql/dialect.ts'
import { readEvents } from '../src/sql/event-queries.ts'
import { MAX_TREND_ROWS } from '../src/sql/trend-queries.ts'
import { EventStoreUnavailableError, QueryTimeoutError, type StoredEvent } from '../src/store.ts'
import { remainsAfter, TRACING } from './power-loss.ts'
import { describeEventStore, expectCompleted } from './store-contract.ts'

const LIMITS = { memoryBytes: 256 * 1024 * 1024, threads: 2, queryTimeoutMs: 120_000 }

const folder = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'waymark-analytics-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

const mount = (...options: string[]): boolean => spawnSync('mount', options).status === 0
const canMount = (() => {
  const path = mkdtempSync(join(tmpdir(), 'waymark-mount-'))
  const isMounted = mount('-t', 'tmpfs', 'tmpfs', path)
  if (isMounted) spawnSync('umount', [path])
  rmSync(path, { recursive: true })
  return isMounted
})()

const hasStrace = spawnSync('strace', ['-V']).status === 0

/** The arguments of Node for a process that stores batches of 100 events, each acknowledged by a line. */
const storingProcess = (path: string): string[] => [
  join(import.meta.dirname, 'storing-process.ts'),
  path,
  JSON.stringify(anEnrichedEvent({ projectId: EVERYTHING.projectId })),
]

/** A disk in memory of so many megabytes. */
const smallDisk = async (megabytes: number) => {
  const path = await mkdtemp(join(tmpdir(), 'waymark-disk-'))
  mount('-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path)
  onTestFinished(async () => {
    spawnSync('umount', [path])
    await rm(path, { recursive: true })
  })
  return { path, grow: (to: number) => mount('-o', `remount,size=${to}m`, path) }
}

/** A statement that takes hours. */
const ENDLESS = 'SELECT sum(range) FROM range(100000000000000)'

const EVERYTHING = {
  projectId: '01900000-0000-7000-8000-000000000001',
  metric: 'events' as const,
  from: Date.parse('2020-01-01T00:00:00Z'),
  to: Date.parse('2040-01-01T00:00:00Z'),
  buckets: [Date.parse('2020-01-01T00:00:00Z')],
  filters: [],
  maxGroups: 10,
  includeBots: false,
}

describe('analytics in DuckDB', () => {
  describeEventStore(() => openDuckDBStore({ path: ':memory:', ...LIMITS }), { runs: extent(8, 60) })

  it('keeps events when it is closed and opened again', async () => {
    const path = join(await folder(), 'analytics.duckdb')
    const first = await openDuckDBStore({ path, ...LIMITS })
    await first.storeEvents([anEnrichedEvent()])
    await first.close()
    const second = await openDuckDBStore({ path, ...LIMITS })
    expect(await second.measureTrend(EVERYTHING)).toContainEqual(
      expect.objectContaining({ bucket: null, value: 1 }),
    )
    await second.close()
  })

  it('migrates a file of version 1 with its events', async () => {
    const path = join(await folder(), 'analytics.duckdb')
    const instance = await DuckDBInstance.create(path)
    const connection = await instance.connect()
    await connection.run(`
      CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (1); ${migrations[0]}
      INSERT INTO events (project_id, event_key, "time", event_name, bot, warnings, conversions, properties, erased)
      VALUES ('${EVERYTHING.projectId}', gen_random_uuid(), '2026-01-01', 'order', false, 0, [], '{}', false)`)
    connection.closeSync()
    instance.closeSync()
    for (let opened = 0; opened < 2; opened++) {
      const store = await openDuckDBStore({ path, ...LIMITS })
      const answer = await store.measureTrend(EVERYTHING)
      expect(answer).toContainEqual(expect.objectContaining({ bucket: null, value: 1 }))
      await store.close()
    }
  })

  it('completes events of a file of version 2, those that were erased excepted', async () => {
    const path = join(await folder(), 'analytics.duckdb')
    const instance = await DuckDBInstance.create(path)
    const connection = await instance.connect()
    const events = ['early', 'erased', 'missing'].map((eventId) => anEnrichedEvent({ event: { eventId } }))
    const valuesOf = ({ projectId, eventId, timestamp, eventName }: EnrichedEvent) =>
      `('${projectId}', '${eventKeyOf(eventId)}', '${timestamp}', '${eventName}', false, 0, [], '{}', ${eventId === 'erased'})`
    await connection.run(`
      CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (2);
      ${migrations[0]}; ${migrations[1]}
      INSERT INTO events (project_id, event_key, "time", event_name, bot, warnings, conversions, properties, erased)
      VALUES ${events.slice(0, 2).map(valuesOf).join(', ')}`)
    connection.closeSync()
    instance.closeSync()
    const store = await openDuckDBStore({ path, ...LIMITS })
    onTestFinished(() => store.close())
    await expectCompleted(store, events)
  })

  // A block of DuckDB has 122,880 rows.
  it.each([
    { project: 'an active project', now: '2026-11-01T00:00:00Z', bound: 4 * 122_880 },
    // The newest receipt is looked up once, in one column.
    { project: 'an idle project', now: '2027-11-01T00:00:00Z', bound: 1_000_000 + 4 * 122_880 },
  ])('reads few events for the newest of many of $project', async ({ now, bound }) => {
    const newest = Date.parse('2026-11-01T00:00:00Z')
    // Slow statements would change the ranges.
    vi.spyOn(performance, 'now').mockReturnValue(0)
    vi.spyOn(Date, 'now').mockReturnValue(Date.parse(now))
    onTestFinished(() => void vi.restoreAllMocks())
    const file = await openDuckDBFile({ path: ':memory:', ...LIMITS })
    onTestFinished(() => file.close())
    await file.write([
      [
        `INSERT INTO events (project_id, event_key, "time", event_name, bot, warnings, conversions, properties, erased,
           received_at, details)
         SELECT $1, uuid(), received, 'order', false, 0, [], '{}', false, received, '{}'
         FROM (SELECT $2::TIMESTAMP - INTERVAL 1 SECOND * (1000000 - range) AS received FROM range(1000000))`,
        [EVERYTHING.projectId, new Date(newest).toISOString()],
      ],
    ])
    let scanned = 0
    const query: Database['query'] = async (projectId, text, bindings) => {
      const [explained] = await file.query<{ explain_value: string }>(
        projectId,
        `EXPLAIN (ANALYZE, FORMAT json) ${text}`,
        bindings,
      )
      const counts = (explained?.explain_value ?? '').matchAll(/"operator_rows_scanned":\s*(\d+)/g)
      for (const [, count] of counts) scanned += Number(count)
      return file.query(projectId, text, bindings)
    }
    const found: StoredEvent[] = []
    const events = { projectId: EVERYTHING.projectId, portion: () => 100 }
    for await (const portion of readEvents({ dialect: duckdbDialect, query }, events)) {
      found.push(...portion.events)
      if (found.length >= 100) break
    }
    expect(found.slice(0, 100).map(({ receivedAt }) => Date.parse(receivedAt))).toEqual(
      Array.from({ length: 100 }, (_, place) => newest - (place + 1) * 1_000),
    )
    expect(scanned).toBeGreaterThan(0)
    expect(scanned).toBeLessThanOrEqual(bound)
  })

  it.skipIf(!canMount)('recovers after its disk was full, with each event stored once', async () => {
    const disk = await smallDisk(18)
    const store = await openDuckDBStore({ path: join(disk.path, 'analytics.duckdb'), ...LIMITS })
    onTestFinished(() => store.close())
    const stored = async () =>
      (await store.measureTrend(EVERYTHING)).find(({ bucket }) => bucket === null)?.value
    const batchOf = (n: number) =>
      Array.from({ length: 500 }, (_, place) =>
        anEnrichedEvent({
          projectId: EVERYTHING.projectId,
          event: { eventId: `${n} ${place}`, properties: { text: randomBytes(200).toString('hex') } },
        }),
      )
    let batches = 0
    await expect(
      (async () => {
        for (;;) {
          await store.storeEvents(batchOf(batches))
          batches++
        }
      })(),
    ).rejects.toBeInstanceOf(EventStoreUnavailableError)
    for (let n = 0; n < 3; n++)
      await expect(store.storeEvents(batchOf(batches))).rejects.toBeInstanceOf(EventStoreUnavailableError)
    // The log may have been written, and only what follows it failed.
    expect([batches * 500, (batches + 1) * 500]).toContain(await stored())
    disk.grow(100)
    await store.storeEvents(batchOf(batches))
    await store.storeEvents(batchOf(batches + 1))
    expect(await stored()).toBe((batches + 2) * 500)
  })

  it.skipIf(!canMount)('reports a read-only disk when it is opened, and loses nothing', async () => {
    const disk = await smallDisk(50)
    const path = join(disk.path, 'analytics.duckdb')
    const first = await openDuckDBStore({ path, ...LIMITS })
    await first.storeEvents([anEnrichedEvent({ projectId: EVERYTHING.projectId })])
    await first.close()
    mount('-o', 'remount,ro', disk.path)
    await expect(openDuckDBStore({ path, ...LIMITS })).rejects.toThrow(/analytics\.duckdb.*read-only/is)
    mount('-o', 'remount,rw', disk.path)
    const again = await openDuckDBStore({ path, ...LIMITS })
    onTestFinished(() => again.close())
    expect(await again.measureTrend(EVERYTHING)).toContainEqual(
      expect.objectContaining({ bucket: null, value: 1 }),
    )
  })

  it('refuses a file that was cut short, and says what to do', async () => {
    const path = join(await folder(), 'analytics.duckdb')
    // The second part is behind what DuckDB reads when it opens the file.
    for (const rows of [200_000, 130_000]) {
      const file = await openDuckDBFile({ path, ...LIMITS })
      await file.write([
        [
          `INSERT INTO events (project_id, event_key, "time", event_name, bot, warnings, conversions, properties, erased)
           SELECT $1, uuid(), now()::TIMESTAMP, 'order', false, 0, [], '{"n":' || random() || '}', false FROM range(${rows})`,
          [EVERYTHING.projectId],
        ],
      ])
      await file.close()
    }
    const whole = await readFile(path)
    for (const bytes of [0, 100, 12_288, whole.length >> 1, whole.length - 5 * 262_144]) {
      await writeFile(path, whole.subarray(0, bytes))
      await expect(openDuckDBStore({ path, ...LIMITS })).rejects.toThrow(
        /analytics\.duckdb is damaged or incomplete.*backup\.md/,
      )
      expect((await stat(path)).size).toBe(bytes)
    }
    await writeFile(path, whole)
    const store = await openDuckDBStore({ path, ...LIMITS })
    expect(await store.measureTrend(EVERYTHING)).toContainEqual(
      expect.objectContaining({ bucket: null, value: 330_000 }),
    )
    await store.close()
  })

  it('has every stored batch after kill -9', async () => {
    const path = join(await folder(), 'analytics.duckdb')
    let stored = 0
    for (const batches of [1, 3, 8]) {
      const { child, stdout, kill } = startProcess(process.execPath, storingProcess(path))
      onTestFinished(kill)
      await expect.poll(() => stdout().split('\n').length > batches, { timeout: PATIENCE_MS }).toBe(true)
      child.kill('SIGKILL')
      await kill()
      // Each line is a batch of 100 events whose write had resolved.
      stored += (stdout().split('\n').length - 1) * 100
      const store = await openDuckDBStore({ path, ...LIMITS })
      const all = (await store.measureTrend(EVERYTHING)).find(({ bucket }) => bucket === null)?.value ?? 0
      // A batch that was not acknowledged may be there, as a whole.
      expect([stored, stored + 100]).toContain(all)
      stored = all
      await store.close()
    }
  })

  it.skipIf(!hasStrace)('has every stored batch after a power loss, also during a checkpoint', async () => {
    const [traced, remaining] = [await folder(), await folder()]
    const trace = join(await folder(), 'trace')
    const command = [process.execPath, ...storingProcess(join(traced, 'analytics.duckdb')), '100KB']
    const { stdout, kill } = startProcess('strace', [...TRACING, '-o', trace, ...command])
    onTestFinished(kill)
    await expect.poll(() => stdout().split('\n').length > 10, { timeout: PATIENCE_MS }).toBe(true)
    await kill()
    let checkpoints = 0
    for await (const { printed, removed, files } of remainsAfter(trace, traced)) {
      // DuckDB removes its log once the file has everything.
      checkpoints = removed
      await rm(remaining, { recursive: true })
      await mkdir(remaining)
      for (const [name, content] of files) await writeFile(join(remaining, basename(name)), content)
      const store = await openDuckDBStore({ path: join(remaining, 'analytics.duckdb'), ...LIMITS })
      const all = (await store.measureTrend(EVERYTHING)).find(({ bucket }) => bucket === null)?.value ?? 0
      await store.close()
      // A batch that was not acknowledged may be there, as a whole.
      expect([printed * 100, printed * 100 + 100]).toContain(all)
    }
    expect(checkpoints).toBeGreaterThan(1)
  })

  it('refuses queries after it is closed', async () => {
    const store = await openDuckDBStore({ path: ':memory:', ...LIMITS })
    await store.close()
    await expect(store.measureTrend(EVERYTHING)).rejects.toThrow('The process is stopping')
  })

  it('stops a query when its signal aborts, also one that waits, and answers the next', async () => {
    const file = await openDuckDBFile({ path: ':memory:', ...LIMITS, queryTimeoutMs: 600_000 })
    const store = createDuckDBStore(file)
    onTestFinished(() => store.close())
    const stop = new AbortController()
    const ask = () => file.query(EVERYTHING.projectId, ENDLESS, {}, { signal: stop.signal })
    const rejected = [ask(), ask()].map((query) => expect(query).rejects.toThrow('The reader left'))
    stop.abort(new Error('The reader left'))
    await Promise.all(rejected)
    await expect(store.queriesUntil(stop.signal).measureTrend(EVERYTHING)).rejects.toThrow('The reader left')
    expect(await store.measureTrend(EVERYTHING)).toEqual([])
  })

  const projectOf = (digit: number) => `01900000-0000-7000-8000-00000000000${digit}`
  const openWith = async (shortQueryMs: number) => {
    const file = await openDuckDBFile({ path: ':memory:', ...LIMITS, queryTimeoutMs: 600_000, shortQueryMs })
    const store = createDuckDBStore(file)
    onTestFinished(() => store.close())
    const stop = new AbortController()
    const endless = [2, 3, 4].map((project) =>
      file.query(projectOf(project), ENDLESS, {}, { signal: stop.signal }),
    )
    const stopped = endless.map((query) => expect(query).rejects.toThrow('enough'))
    const stopEndless = async () => {
      stop.abort(new Error('enough'))
      await Promise.all(stopped)
    }
    return { file, store, stopEndless }
  }

  it('answers one project and stores events while others have queries that take hours', async () => {
    const { store, stopEndless } = await openWith(5_000)
    for (let count = 1; count <= 20; count++) {
      await store.storeEvents([
        anEnrichedEvent({ projectId: EVERYTHING.projectId, event: { eventId: `${count}` } }),
      ])
      expect(await store.measureTrend(EVERYTHING)).toContainEqual(
        expect.objectContaining({ bucket: null, value: count }),
      )
    }
    await stopEndless()
  })

  it('lists events while reports occupy all of their readers', async () => {
    const { store, stopEndless } = await openWith(600_000)
    const event = anEnrichedEvent({ projectId: projectOf(2) })
    await store.storeEvents([event])
    const events = store.readEvents({ projectId: projectOf(2), portion: () => 1 })
    expect((await events.next()).value?.events).toMatchObject([{ eventId: event.eventId }])
    await stopEndless()
  })

  it('answers a long query in its turn, after others', async () => {
    const { file, stopEndless } = await openWith(1)
    const numbers = 30_000_000
    const long = file.query(
      EVERYTHING.projectId,
      `SELECT sum(sin(n) * 0 + 1) AS n FROM range(${numbers}) AS a (n)`,
      {},
    )
    await stopEndless()
    expect(await long).toEqual([{ n: numbers }])
  })

  /** A query whose lists cannot be moved to disk, with some 35 MB for each of them. */
  const listing = (lists: number): string => {
    const lengths = Array.from({ length: lists }, (_, n) => `len(list(n + ${n}))`)
    return `SELECT ${lengths.join(' + ')} AS n FROM range(2000000) AS a (n)`
  }

  it('answers tenants whose queries have not enough memory beside each other', async () => {
    // Short queries continue beside one that runs alone, and these would take its memory.
    const file = await openDuckDBFile({ path: ':memory:', ...LIMITS, shortQueryMs: 1 })
    onTestFinished(() => file.close())
    const answers = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((project) => file.query(projectOf(project), listing(5), {})),
    )
    expect(answers).toEqual(answers.map(() => [{ n: 10_000_000n }]))
  })

  it('keeps memory for writes that queries cannot use', async () => {
    const file = await openDuckDBFile({ path: ':memory:', ...LIMITS })
    onTestFinished(() => file.close())
    await file.write([['CREATE TABLE lengths (n BIGINT)', []]])
    const ask = () => file.query(projectOf(1), listing(7), {})
    await expect(ask()).rejects.toThrow('The query needs too much memory')
    expect(await file.write([[`INSERT INTO lengths ${listing(7)}`, []]])).toBe(1)
    await expect(ask()).rejects.toThrow('The query needs too much memory')
  })

  it('refuses an answer of too many rows', async () => {
    const file = await openDuckDBFile({ path: ':memory:', ...LIMITS })
    const store = createDuckDBStore(file)
    onTestFinished(() => store.close())
    const fill = (from: number, to: number) =>
      file.write([
        [
          `INSERT INTO events (project_id, event_key, "time", event_name, bot, warnings, conversions, properties, erased)
           SELECT $1, gen_random_uuid(), '2026-01-01', 'order', false, 0,
             [{ selector_id: gen_random_uuid(), amount: 1, currency: n::VARCHAR }], '{}', false
           FROM range(${from}, ${to}) AS numbers (n)`,
          [EVERYTHING.projectId],
        ],
      ])
    // Each currency has a number for its bucket and one for the whole range.
    await fill(0, MAX_TREND_ROWS / 2)
    const revenue = { ...EVERYTHING, metric: 'revenue' as const }
    expect(await store.measureTrend(revenue)).toHaveLength(MAX_TREND_ROWS)
    await fill(MAX_TREND_ROWS / 2, MAX_TREND_ROWS / 2 + 1)
    await expect(store.measureTrend(revenue)).rejects.toBeInstanceOf(QueryTimeoutError)
  })

  it('stops a query that takes too long, and answers the next', async () => {
    const store = await openDuckDBStore({ path: ':memory:', ...LIMITS, queryTimeoutMs: 10 })
    // Of an empty table the answer is known at once. Buckets of unequal length need a table of millions of quarter hours.
    const buckets = [EVERYTHING.from, Date.parse('2020-01-02T00:00:00Z')]
    await store.storeEvents([anEnrichedEvent()])
    const query = store.measureTrend({ ...EVERYTHING, buckets, to: Date.parse('2300-01-01T00:00:00Z') })
    await expect(query).rejects.toBeInstanceOf(QueryTimeoutError)
    await expect(store.storeEvents([anEnrichedEvent()])).resolves.toBeUndefined()
    await store.close()
  })
})
