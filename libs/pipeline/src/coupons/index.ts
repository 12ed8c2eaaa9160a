export { type AssignedCoupon, createAssignCoupon } from './assign-coupon.ts'
export { assignedCouponKey, assignedCouponKeys, insertCoupons } from './coupon-queries.ts'
export { countsOfShopper, findShopper, type KnownShopper, type ShopperRef } from './shopper-queries.ts'
