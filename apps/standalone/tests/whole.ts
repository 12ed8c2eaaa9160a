import type { AppName, Constellation } from '@waymark/testing'
import { afterAll, describe } from 'vitest'
import { describeCoupons } from './coupons.ts'
import { describeDecisions } from './decisions.ts'
import { describeEmail } from './email.ts'
import { describeIdentity } from './identity.ts'
import { describeIngestion } from './ingestion.ts'
import { describeMainJob } from './main-job.ts'
import { describeShortLinks } from './short-links.ts'
import { describeTraces } from './traces.ts'

type Start = (env?: Record<string, string>) => Promise<Constellation>

/** All that Waymark does, asserted on whichever way of running `start` begins; `couponApp` redeems coupons there. */
export const describeWhole = (start: Start, couponApp: AppName): void => {
  const shared = startOnce(start)
  describeMainJob(shared)
  describe('catalog, conversions and keys', () => describeIngestion(shared))
  describe('email', () => describeEmail(shared))
  describe('people', () => describeIdentity(shared))
  describe('coupons', () => describeCoupons(shared, couponApp))
  describe('short links', () => describeShortLinks(shared))
  describe('decisions', () => describeDecisions(shared))
  describe('traces', () => describeTraces(start))
}

/** A start that several groups share, since it costs more than most of them; the end of all stops it. */
const startOnce = (start: Start): (() => Promise<Constellation>) => {
  let started: Promise<Constellation> | undefined
  afterAll(async () => (await started)?.stop())
  return async () => {
    started ??= start()
    return { ...(await started), stop: async () => {} }
  }
}
