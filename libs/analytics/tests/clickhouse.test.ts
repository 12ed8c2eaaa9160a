import { randomBytes } from 'node:crypto'
import { executeOnClickHouse, requireServices, services } from '@waymark/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrateClickHouse, openClickHouseStore } from '../src/clickhouse/index.ts'
import { migrationsOf } from '../src/clickhouse/schema.ts'
import { describeAnalyticsStore } from './store-contract.ts'

const PROJECT = '01900000-0000-7000-8000-000000000001'

describe.skipIf(!services)('analytics in ClickHouse', () => {
  describeAnalyticsStore(
    async () => {
      const options = {
        url: requireServices().clickhouseUrl,
        database: `t${randomBytes(5).toString('hex')}`,
        queryTimeoutMs: 10_000,
        queryMemoryBytes: 512 * 1024 * 1024,
      }
      await migrateClickHouse(options)
      return openClickHouseStore(options)
    },
    { runs: 20 },
  )

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
        .poll(running, { timeout: 30_000 })
        .toContain('1')
        .finally(() => stop.abort(new Error('The reader left'))),
    ])
    expect(reason).toBe(stop.signal.reason)
    await expect.poll(running, { timeout: 30_000 }).toContain('0')
  })

  it('has tables for a cluster that the engine can read', async () => {
    const statements = migrationsOf({ cluster: 'waymark' })
    expect(statements.length).toBeGreaterThan(0)
    for (const statement of statements) {
      expect(statement).toContain(`ON CLUSTER 'waymark'`)
      const tree = await executeOnClickHouse(requireServices().clickhouseUrl, `EXPLAIN AST ${statement}`)
      expect(tree).toContain('Function ReplicatedReplacingMergeTree')
    }
  })
})
