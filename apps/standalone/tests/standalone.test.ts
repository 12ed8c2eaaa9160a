import { startStandalone } from '@waymark/testing'
import { describe } from 'vitest'
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
  describeMainJob(startStandalone)
  describe('catalog, conversions and keys', () => describeIngestion(startStandalone))
  describe('email', () => describeEmail(startStandalone))
  describe('people', () => describeIdentity(startStandalone))
  describe('coupons', () => describeCoupons(startStandalone, 'standalone'))
  describe('short links', () => describeShortLinks(startStandalone))
  describe('decisions', () => describeDecisions(startStandalone))
  describe('traces', () => describeTraces(startStandalone))
  describePowerCut(startStandalone, ['standalone'])
})
