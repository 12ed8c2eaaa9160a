import { services, startDistributed } from '@waymark/testing'
import { describe } from 'vitest'
import { describeWhole } from './whole.ts'

describe.skipIf(!services)('Waymark as separate processes on Kafka, PostgreSQL and Redis', () => {
  describeWhole((env) => startDistributed(undefined, env), 'coupon-service')
})
