import { randomBytes } from 'node:crypto'
import { executeOnClickHouse, requireServices, services } from '@waymark/testing'
import { describe, expect, it } from 'vitest'
import { migrateClickHouse, openClickHouseStore } from '../src/clickhouse/index.ts'
import { migrationsOf } from '../src/clickhouse/schema.ts'
import { describeAnalyticsStore } from './store-contract.ts'

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
