import { startStandalone } from '@waymark/testing'
import { describe } from 'vitest'
import { startOnce } from './client.ts'
import { describeCoupons } from './coupons.ts'
import { describeDecisions } from './decisions.ts'
import { describeEmail } from './email.ts'
import { describeIdentity } from './identity.ts'
import { describeIngestion } from './ingestion.ts'
import { describeMainJob } from './main-job.ts'
import { describePowerCut } from './power-cut.ts'
import { describeShortLinks } from './short-links.ts'
import { describeTraces } from './traces.ts'

describe('Waymark in one process on embedded parts', () => {
  const start = startOnce(startStandalone)
  describeMainJob(start)
  describe('catalog, conversions and keys', () => describeIngestion(start))
  describe('email', () => describeEmail(start))
  describe('people', () => describeIdentity(start))
  describe('coupons', () => describeCoupons(start, 'standalone'))
  describe('short links', () => describeShortLinks(start))
  describe('decisions', () => describeDecisions(start))
  describe('traces', () => describeTraces(startStandalone))
  describePowerCut(startStandalone, ['standalone'])
})
