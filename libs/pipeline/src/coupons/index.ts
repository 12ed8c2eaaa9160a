export { type AssignedCoupon, createAssignCoupon } from './assign-coupon.ts'
export { givenCouponKey, givenCouponKeys, insertCoupons } from './coupon-queries.ts'
