export { type AssignedCoupon, createAssignCoupon } from './assign-coupon.ts'
export { givenCouponKey, givenCouponKeys, insertCoupons, type NewCode } from './coupon-queries.ts'
