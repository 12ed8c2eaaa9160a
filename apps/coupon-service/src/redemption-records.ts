import type { ProjectSettings } from '@waymark/contracts/project-settings'
import type { CouponRedemptionRecord } from '@waymark/contracts/records/coupon-redemption'
import type { AcceptedEvent, ClientDevice } from '@waymark/contracts/records/ingest-record'
import { couponsRedeemed, ingestRecords } from '@waymark/contracts/topics'
import { type CompiledSelector, conversionsOf } from '@waymark/domain/conversion'
import { ingestRecordOf, movementEventId, partitionKeyOf } from '@waymark/domain/ingestion'
import { type Movement, outboxStatement } from '@waymark/pipeline'
import type { QueryConfig } from 'pg'
import type { Coupon, GiftCard } from './redeemable-coupon-queries.ts'
import type { Granted, Redemption } from './redemption-queries.ts'

/** The outbox lane of redemptions. */
const LANE = 'coupons'
const EVENT_NAME = 'coupon_redeemed'
const SPENT_EVENT_NAME = 'gift_card_spent'

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

/**
 * The statement that publishes a payment with a gift card as an ordinary event, which metering selectors can match. The code is
 * money, so that the event has its last characters only.
 */
export const publishSpending = (
  { id: couponId, code, pool, card: { currency } }: GiftCard,
  { id: movementId, projectId, orderId = null, person, at }: Movement,
  amount: number,
  config: RecordConfig,
  device: ClientDevice,
): QueryConfig => {
  const { visitorId = null, userId = null } = person ?? {}
  const made: AcceptedEvent = {
    eventId: movementEventId(movementId),
    eventName: SPENT_EVENT_NAME,
    ...(visitorId !== null && { visitorId }),
    ...(userId !== null && { userId }),
    properties: {
      codeEnding: code.slice(-CODE_ENDING),
      couponId,
      poolId: pool.id,
      poolName: pool.name,
      movementId,
      orderId,
      amount,
      currency,
    },
  }
  const event = ingestRecordOf(made, config, {
    receivedAt: at.toISOString(),
    client: device,
    conversions: conversionsOf(made, config.selectorsFor(made.eventName)),
  })
  const records = [{ key: partitionKeyOf(projectId, event.event), value: event }]
  return outboxStatement(LANE, [{ topic: ingestRecords, records }])
}

const CODE_ENDING = 4
