import {
  type CouponRedemptionRecord,
  couponsRedeemed,
  type IngestRecord,
  ingestRecords,
} from '@waymark/contracts'
import { ingestRecordOf, partitionKeyOf, type RecordConfig } from '@waymark/domain'
import { outboxStatement } from '@waymark/pipeline'
import type { QueryConfig } from 'pg'
import type { Coupon } from './find-coupon.ts'
import type { Redemption } from './redemption-rows.ts'

/** The lane of redemptions in the outbox. */
const LANE = 'coupons'
/** The event that a redemption is. */
const EVENT_NAME = 'coupon_redeemed'

/**
 * The statement that has a redemption published when its transaction commits: to `coupons.redeemed.v1`, and as an event
 * that goes the way of all events, so that selectors may make it a conversion.
 */
export const publishRedemption = (
  coupon: Coupon,
  redemption: Redemption,
  config: RecordConfig,
  device: IngestRecord['client'],
): QueryConfig => {
  const { projectId, id } = coupon
  const record = recordOf(coupon, redemption)
  const event = ingestRecordOf(eventOf(coupon, redemption), config, {
    receivedAt: redemption.redeemedAt.toISOString(),
    sentAt: null,
    client: device,
    backfill: false,
    warnings: [],
  })
  return outboxStatement(LANE, [
    { topic: couponsRedeemed, records: [{ key: `${projectId}:${id}`, value: record }] },
    { topic: ingestRecords, records: [{ key: partitionKeyOf(projectId, event.event), value: event }] },
  ])
}

const recordOf = ({ projectId, code, pool }: Coupon, redemption: Redemption): CouponRedemptionRecord => {
  const { id: redemptionId, redeemedAt, ...rest } = redemption
  return {
    v: 1,
    kind: 'redeemed',
    projectId,
    redemptionId,
    code,
    discount: pool.discount,
    at: redeemedAt.toISOString(),
    ...rest,
  }
}

const eventOf = ({ code, pool }: Coupon, redemption: Redemption): IngestRecord['event'] => {
  const {
    id: redemptionId,
    visitorId,
    userId,
    eventId,
    couponId,
    poolId,
    orderId,
    amount,
    currency,
    metadata,
  } = redemption
  return {
    eventId,
    eventName: EVENT_NAME,
    visitorId,
    userId,
    sessionId: null,
    properties: {
      code,
      couponId,
      poolId,
      poolName: pool.name,
      redemptionId,
      orderId,
      amount,
      currency,
      discount: pool.discount,
      metadata,
    },
    clientTimestamp: null,
    shortLinkId: null,
    shortLinkCode: null,
    clickIds: {},
  }
}
