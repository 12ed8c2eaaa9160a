import {
  type AppName,
  type Collector,
  type Constellation,
  extent,
  services,
  startCollector,
} from '@waymark/testing'
import { afterAll, describe } from 'vitest'
import { describeAnalytics } from './analytics.suite.ts'
import { describeCoupons } from './coupons.suite.ts'
import { describeDecisions } from './decisions.suite.ts'
import { describeDeliveryAudit } from './delivery-audit.suite.ts'
import { describeEmail } from './email.suite.ts'
import { describeIdentity } from './identity.suite.ts'
import { describeIngestion } from './ingestion.suite.ts'
import { describeMainJob } from './main-job.suite.ts'
import { describeSegment } from './segment.suite.ts'
import { describeShortLinks } from './short-links.suite.ts'
import { describeTraces } from './traces.suite.ts'
import { describeWebhooks } from './webhooks.suite.ts'

type Start = (env?: Record<string, string>) => Promise<Constellation>

/**
 * The suites that standalone.test.ts and distributed.test.ts run. `couponApp` redeems coupons there. In `npm test`
 * standalone runs those that show its event bus and its event store, and all without Docker, where it is the only one.
 * `npm run test:chaos` runs all on both.
 */
export const describeAllFeatures = (start: Start, couponApp: AppName): void => {
  const hasAll = extent(couponApp !== 'standalone' || !services, true)
  let collector: Collector | undefined
  // Hooks run in reverse order: after the processes have stopped.
  afterAll(() => collector?.stop())
  const shared = startOnce(async () => {
    collector = await startCollector()
    return start({
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      AUDIT_ONE_IN: '1',
    })
  })
  describeMainJob(shared)
  if (hasAll) {
    describe('catalog, conversions and keys', () => describeIngestion(shared))
    describe('messages of Segment’s SDKs', () => describeSegment(shared))
  }
  describe('analytics', () => describeAnalytics(shared))
  if (hasAll) {
    describe('email', () => describeEmail(shared))
    describe('people', () => describeIdentity(shared))
    describe('coupons', () => describeCoupons(shared, couponApp))
    describe('short links', () => describeShortLinks(shared))
    describe('decisions', () => describeDecisions(shared))
    describe('webhooks', () => describeWebhooks(shared))
  }
  describe('the delivery audit', () => describeDeliveryAudit(shared))
  describe('traces', () => describeTraces(shared, () => collector?.spans ?? []))
}

/** A start that several groups share, because it takes longer than most of them. */
const startOnce = (start: Start): (() => Promise<Constellation>) => {
  let started: Promise<Constellation> | undefined
  afterAll(async () => (await started)?.stop())
  return async () => {
    started ??= start()
    return { ...(await started), stop: async () => {} }
  }
}
