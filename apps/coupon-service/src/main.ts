import { runApp } from '@waymark/service-kit'
import { createCouponService } from './app.ts'

await runApp('coupon-service', { port: 8086, config: {} }, createCouponService)
