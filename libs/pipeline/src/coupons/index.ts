export { type AssignedCoupon, createAssignCoupon } from './assign-coupon.ts'
export {
  expireCards,
  findOrderPayments,
  issueCards,
  type LedgerCard,
  lockOrderId,
  type Movement,
  type OrderPayment,
  readBalances,
  refundCard,
  spendCard,
  topUpCard,
  transferBetweenCards,
} from './card-ledger-queries.ts'
export { assignedCouponKey, assignedCouponKeys, insertCoupons } from './coupon-queries.ts'
export {
  countsOfShopper,
  findShopper,
  type Shopper,
  type ShopperRef,
  withSegments,
} from './shopper-queries.ts'
