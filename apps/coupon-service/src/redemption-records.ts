import type { ProjectSettings } from '@waymark/contracts/project-settings'
import type { CouponRedemptionRecord } from '@waymark/contracts/records/coupon-redemption'
import type { AcceptedEvent, ClientDevice } from '@waymark/contracts/records/ingest-record'
import { couponsRedeemed, ingestRecords } from '@waymark/contracts/topics'
import { type CompiledSelector, conversionsOf } from '@waymark/domain/conversion'
import { ingestRecordOf, partitionKeyOf } from '@waymark/domain/ingestion'
import { outboxStatement } from '@waymark/pipeline'
import type { QueryConfig } from 'pg'
import type { Coupon } from './redeemable-coupon-queries.ts'
import type { Granted, Redemption } from './redemption-queries.ts'

/** The outbox lane of redemptions. */
const LANE = 'coupons'
const EVENT_NAME = 'coupon_redeemed'

/** The project's configuration that a redemption's event needs. */
export type RecordConfig = {
  projectId: string
  settings: ProjectSettings
  selectorsFor: (eventName: string) => readonly CompiledSelector[]
}

/**
 * The statement that publishes a redemption when its transaction commits: to `coupons.redeemed.v1`, and as an ordinary event
 * that metering selectors can match.
 */
export const publishRedemption = (
  coupon: Coupon,
  redemption: Redemption,
  granted: Granted | undefined,
  config: RecordConfig,
  device: ClientDevice,
): QueryConfig => {
  const { projectId, id } = coupon
  const amounts = granted && {
    discountAmount: granted.discountAmount,
    shippingDiscountAmount: granted.shippingDiscountAmount,
  }
  const record = { ...recordOf(coupon, redemption), ...amounts }
  const made = eventOf(coupon, redemption, amounts)
  const event = ingestRecordOf(made, config, {
    receivedAt: redemption.redeemedAt.toISOString(),
    client: device,
    conversions: conversionsOf(made, config.selectorsFor(made.eventName)),
  })
  return outboxStatement(LANE, [
    { topic: couponsRedeemed, records: [{ key: `${projectId}:${id}`, value: record }] },
    { topic: ingestRecords, records: [{ key: partitionKeyOf(projectId, event.event), value: event }] },
  ])
}

const recordOf = ({ projectId, code, pool }: Coupon, redemption: Redemption): CouponRedemptionRecord => {
  const { id: redemptionId, redeemedAt, relatedEventId: _ofClient, ...rest } = redemption
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

const eventOf = ({ code, pool }: Coupon, redemption: Redemption, amounts: object = {}): AcceptedEvent => {
  const {
    id: redemptionId,
    visitorId,
    userId,
    eventId,
    relatedEventId,
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
    ...(visitorId !== null && { visitorId }),
    ...(userId !== null && { userId }),
    properties: {
      code,
      couponId,
      poolId,
      poolName: pool.name,
      redemptionId,
      orderId,
      relatedEventId,
      amount,
      currency,
      discount: pool.discount,
      metadata,
      ...amounts,
    },
  }
}
