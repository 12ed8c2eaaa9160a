import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { createClient } from '@clickhouse/client'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { anEnrichedEvent, executeOnClickHouse, extent, requireServices, services } from '@waymark/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { clickhouseDialect } from '../src/clickhouse/dialect.ts'
import { migrateClickHouse, openClickHouseStore, SETTINGS } from '../src/clickhouse/index.ts'
import { ERASED_PRECEDENCE, migrationsOf } from '../src/clickhouse/schema-queries.ts'
import type { Bindings, Database } from '../src/sql/dialect.ts'
import { readEvents } from '../src/sql/event-queries.ts'
import type { EventsQuery, StoredEvent } from '../src/store.ts'
import { describeEventStore, expectCompleted } from './store-contract.ts'

const PROJECT = '01900000-0000-7000-8000-000000000001'

describe.skipIf(!services)('analytics in ClickHouse', () => {
  describeEventStore(
    async () => {
      const options = {
        url: requireServices().clickhouseUrl,
        database: `t${randomBytes(5).toString('hex')}`,
        queryTimeoutMs: 600_000,
        queryMemoryBytes: 512 * 1024 * 1024,
        // Of one server, so that each change after a derivation is later.
        visitMarginMs: 0,
      }
      await migrateClickHouse(options)
      return openClickHouseStore(options)
    },
    { runs: extent(3, 20) },
  )

  const openEmpty = async () => {
    const { clickhouseUrl: url } = requireServices()
    const database = `t${randomBytes(5).toString('hex')}`
    const options = { url, database, queryTimeoutMs: 600_000, queryMemoryBytes: 512 * 1024 * 1024 }
    // Each migration runs again with every version.
    for (let run = 0; run < 2; run++) await migrateClickHouse(options)
    const store = openClickHouseStore(options)
    onTestFinished(() => store.close())
    const execute = (text: string) => executeOnClickHouse(url, text.replaceAll('{database}', database))
    return { store, database, execute }
  }

  it('completes events of an earlier version, those that were erased excepted', async () => {
    const { store, execute } = await openEmpty()
    const events = ['early', 'erased', 'missing'].map((eventId) => anEnrichedEvent({ event: { eventId } }))
    for (const { projectId, eventId, timestamp, eventName } of events.slice(0, 2))
      await execute(
        `INSERT INTO {database}.events (project_id, event_key, time, event_name, properties, erased, precedence)
         SELECT '${projectId}', '${eventKeyOf(eventId)}', parseDateTime64BestEffort('${timestamp}', 3), '${eventName}', '{}',
           ${eventId === 'erased'}, ${eventId === 'erased' ? ERASED_PRECEDENCE : 1}`,
      )
    await expectCompleted(store, events)
  })

  it('stores an event that all replicas must have, in a table without any', async () => {
    const { store } = await openEmpty()
    const event = anEnrichedEvent({ projectId: PROJECT })
    await store.storeEvents([event], { onAllReplicas: true })
    const found: string[] = []
    for await (const { events } of store.readEvents({ projectId: PROJECT, portion: () => 2 }))
      found.push(...events.map(({ eventId }) => eventId))
    expect(found).toEqual([event.eventId])
  })

  it('reads few events for the newest of many of an active project, one by its id, and those of a person', async () => {
    const { database, execute } = await openEmpty()
    const newest = Date.now()
    // Slow statements would change the ranges.
    vi.spyOn(performance, 'now').mockReturnValue(0)
    vi.spyOn(Date, 'now').mockReturnValue(newest)
    onTestFinished(() => void vi.restoreAllMocks())
    const person = '01900000-0000-7000-8000-0000000000aa'
    await execute(
      `INSERT INTO {database}.events (project_id, event_key, time, event_name, profile_id, properties, erased, received_at, details)
       SELECT '${PROJECT}', generateUUIDv4(), fromUnixTimestamp64Milli(toInt64(${newest} - (number + 1) * 1000)),
         ['view', 'order'][number % 2 + 1], if(number % 100000 = 7, toUUID('${person}'), generateUUIDv4()), '{}', false,
         fromUnixTimestamp64Milli(toInt64(${newest} - (number + 1) * 1000)), '{}'
       FROM numbers(1000000)`,
    )
    const { clickhouseUrl: url } = requireServices()
    const client = createClient({ url, database, clickhouse_settings: SETTINGS })
    onTestFinished(() => client.close())
    /** Reads until there are `count` events, and how many rows the server read for them. */
    const read = async (query: Omit<EventsQuery, 'projectId' | 'portion'>, count: number) => {
      const found: StoredEvent[] = []
      let rows = 0
      const run: Database['query'] = async <T>(_: string, text: string, bindings: Bindings) => {
        const result = await client.query({ query: text, query_params: bindings, format: 'JSON' })
        const { data, statistics } = await result.json<T>()
        rows += statistics?.rows_read ?? Number.NaN
        return data
      }
      const events = { projectId: PROJECT, portion: () => 100, ...query }
      for await (const portion of readEvents({ dialect: clickhouseDialect, query: run }, events)) {
        found.push(...portion.events)
        if (found.length >= count) break
      }
      return { found, rows }
    }
    const latest = await read({}, 100)
    expect(latest.found.slice(0, 100).map(({ receivedAt }) => Date.parse(receivedAt))).toEqual(
      Array.from({ length: 100 }, (_, place) => newest - (place + 1) * 1_000),
    )
    expect(latest.rows).toBeLessThan(200_000)
    const { eventKey } = latest.found[50] as StoredEvent
    const one = await read({ eventKeys: [eventKey] }, 1)
    expect(one.found.map((event) => event.eventKey)).toEqual([eventKey])
    expect(one.rows).toBeLessThan(200_000)
    const persons = await read({ profileIds: [person] }, 10)
    expect(persons.found).toHaveLength(10)
    // Of a million, some of them in several ranges.
    expect(persons.rows).toBeLessThan(700_000)
  })

  it('stops a query on the server when its signal aborts', async () => {
    const { clickhouseUrl: url } = requireServices()
    const database = `t${randomBytes(5).toString('hex')}`
    const options = { url, database, queryTimeoutMs: 600_000, queryMemoryBytes: 512 * 1024 * 1024 }
    await executeOnClickHouse(url, `CREATE DATABASE ${database}`)
    await executeOnClickHouse(
      url,
      `CREATE VIEW ${database}.events AS
       SELECT toUUID('${PROJECT}') AS project_id, fromUnixTimestamp64Milli(toInt64(number), 'UTC') AS time,
         false AS bot, false AS erased, '{}' AS properties
       FROM numbers(1000000000000) WHERE sipHash64(number) = 0`,
    )
    const store = openClickHouseStore(options)
    onTestFinished(() => store.close())
    const running = () =>
      executeOnClickHouse(url, `SELECT count() FROM system.processes WHERE current_database = '${database}'`)
    const stop = new AbortController()
    const query = store
      .queriesUntil(stop.signal)
      .listProperties({ projectId: PROJECT, from: 0, to: Date.parse('2100-01-01T00:00:00Z'), limit: 1 })
    const [{ reason }] = await Promise.all([
      Promise.allSettled([query]).then(([outcome]) => outcome as PromiseRejectedResult),
      expect
        .poll(running)
        .toContain('1')
        .finally(() => stop.abort(new Error('The reader left'))),
    ])
    expect(reason).toBe(stop.signal.reason)
    await expect.poll(running).toContain('0')
  })

  it('connects by TLS and checks the certificate with the CA', async () => {
    const { clickhouseUrl } = requireServices()
    const folder = mkdtempSync(join(tmpdir(), 'waymark-tls-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = (name: string) => join(folder, name)
    const certificate = (name: string) => {
      const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
      const files = ['-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)]
      execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], {
        stdio: 'ignore',
      })
      return readFileSync(file(`${name}.crt`), 'utf8')
    }
    const [ca, other] = [certificate('server'), certificate('other')]
    const target = new URL(clickhouseUrl)
    const server = createServer({ cert: ca, key: readFileSync(file('server.key')) }, (client) => {
      const upstream = connect(Number(target.port), target.hostname)
      client
        .on('error', () => upstream.destroy())
        .pipe(upstream)
        .pipe(client)
      upstream.on('error', () => client.destroy())
    })
    server.listen(0)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const url = new URL(clickhouseUrl)
    url.protocol = 'https:'
    url.host = `localhost:${(server.address() as AddressInfo).port}`
    const findAll = async (trusted: string) => {
      const store = openClickHouseStore({
        url: url.href,
        tls: { ca: trusted },
        database: 'default',
        queryTimeoutMs: 600_000,
        queryMemoryBytes: 512 * 1024 * 1024,
      })
      onTestFinished(() => store.close())
      // There is no table in this database: an answer of the server, not of the connection.
      return store
        .findProfiles({ projectId: PROJECT, filters: [], limit: 1 })
        .catch(({ cause }) => `${cause}`)
    }
    expect(await findAll(ca)).toMatch(/Unknown table|UNKNOWN_TABLE|profiles/)
    expect(await findAll(other)).toMatch(/certificate/)
  })

  it('has tables for a cluster that the engine can read', async () => {
    const statements = migrationsOf({ cluster: 'waymark' })
    expect(statements.length).toBeGreaterThan(0)
    for (const statement of statements) {
      expect(statement).toContain(`ON CLUSTER 'waymark'`)
      const tree = await executeOnClickHouse(requireServices().clickhouseUrl, `EXPLAIN AST ${statement}`)
      if (statement.startsWith('CREATE TABLE'))
        expect(tree).toMatch(/Function Replicated(Replacing)?MergeTree/)
    }
  })
})
