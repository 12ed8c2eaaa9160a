import { services, startDistributed } from '@waymark/testing'
import { describe } from 'vitest'
import { describeMainJob } from './main-job.ts'
import { describePowerCut } from './power-cut.ts'

describe.skipIf(!services)('Waymark as separate processes on Kafka, PostgreSQL and Redis', () => {
  describeMainJob(startDistributed)
  describePowerCut(startDistributed, ['ingest-gateway', 'enrichment-consumer', 'persistence-consumer'])
})
