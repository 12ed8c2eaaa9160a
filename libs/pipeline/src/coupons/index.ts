export { type AssignedCoupon, createAssignCoupon } from './assign-coupon.ts'
export { assignedCouponKey, assignedCouponKeys, insertCoupons } from './coupon-queries.ts'
