import { randomBytes } from 'node:crypto'
import { requireServices, services } from '@waymark/testing'
import { describe } from 'vitest'
import { migrateClickHouse, openClickHouseStore } from '../src/clickhouse/index.ts'
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
})
