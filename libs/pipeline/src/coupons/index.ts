export { type AssignedCoupon, createAssignCoupon } from './assign-coupon.ts'
export { assignedCouponKey, assignedCouponKeys, insertCoupons } from './coupon-queries.ts'
export {
  countsOfShopper,
  findShopper,
  type Shopper,
  type ShopperRef,
  withSegments,
} from './shopper-queries.ts'
