import { createPool } from '@waymark/database'
import { createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, describe } from 'vitest'
import { createPostgresAnalytics } from '../src/postgres-analytics.ts'
import { describeAnalytics } from './analytics-contract.ts'

describe.skipIf(!services)('analytics in PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let pool: ReturnType<typeof createPool>

  beforeAll(async () => {
    database = await createTestDatabase()
    pool = createPool({ url: database.url, max: 4, applicationName: 'test', onError: () => {} })
  })
  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  describeAnalytics(() => createPostgresAnalytics(pool))
})
