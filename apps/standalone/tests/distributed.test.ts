import { services, startDistributed } from '@waymark/testing'
import { describe } from 'vitest'
import { startOnce } from './client.ts'
import { describeCoupons } from './coupons.ts'
import { describeDecisions } from './decisions.ts'
import { describeEmail } from './email.ts'
import { describeIdentity } from './identity.ts'
import { describeIngestion } from './ingestion.ts'
import { describeMainJob } from './main-job.ts'
import { describeShortLinks } from './short-links.ts'
import { describeTraces } from './traces.ts'

describe.skipIf(!services)('Waymark as separate processes on Kafka, PostgreSQL and Redis', () => {
  const start = startOnce(startDistributed)
  describeMainJob(start)
  describe('catalog, conversions and keys', () => describeIngestion(start))
  describe('email', () => describeEmail(start))
  describe('people', () => describeIdentity(start))
  describe('coupons', () => describeCoupons(start, 'coupon-service'))
  describe('short links', () => describeShortLinks(start))
  describe('decisions', () => describeDecisions(start))
  describe('traces', () => describeTraces((env) => startDistributed(undefined, env)))
})
