export { type AssignedCoupon, createAssignCoupon, type NoCoupon } from './assign-coupon.ts'
export { givenCouponKey, givenCouponKeys, insertCoupons, type NewCode } from './coupon-queries.ts'
