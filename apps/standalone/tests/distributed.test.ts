import { services, startDistributed } from '@waymark/testing'
import { describe } from 'vitest'
import { describeCoupons } from './coupons.ts'
import { describeDecisions } from './decisions.ts'
import { describeEmail } from './email.ts'
import { describeIdentity } from './identity.ts'
import { describeIngestion } from './ingestion.ts'
import { describeMainJob } from './main-job.ts'
import { describeShortLinks } from './short-links.ts'
import { describeTraces } from './traces.ts'

describe.skipIf(!services)('Waymark as separate processes on Kafka, PostgreSQL and Redis', () => {
  describeMainJob(startDistributed)
  describe('catalog, conversions and keys', () => describeIngestion(startDistributed))
  describe('email', () => describeEmail(startDistributed))
  describe('people', () => describeIdentity(startDistributed))
  describe('coupons', () => describeCoupons(startDistributed, 'coupon-service'))
  describe('short links', () => describeShortLinks(startDistributed))
  describe('decisions', () => describeDecisions(startDistributed))
  describe('traces', () => describeTraces((env) => startDistributed(undefined, env)))
})
