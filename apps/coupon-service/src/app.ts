import type { Platform, Service } from '@waymark/service-kit'

/** Redeems and looks up coupons, and generates their pools. */
export const createCouponService = (_platform: Platform): Service => ({ routes: [] })
