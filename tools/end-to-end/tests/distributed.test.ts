import { services, startDistributed } from '@waymark/testing'
import { describe } from 'vitest'
import { describeAllFeatures } from './all.suite.ts'

describe.skipIf(!services)('Waymark as separate processes on Kafka, PostgreSQL and Redis', () => {
  describeAllFeatures((env) => startDistributed(undefined, env), 'coupon-service')
})
