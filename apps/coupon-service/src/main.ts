import {
  distributedPlatform,
  httpConfig,
  platformConfig,
  readConfig,
  runService,
  startService,
} from '@waymark/service-kit'
import { createCouponService } from './app.ts'

await runService('coupon-service', process.env, async (context) => {
  const config = readConfig({ platform: platformConfig, http: httpConfig(8086) }, context.env)
  const platform = await distributedPlatform(config.platform, context)
  await startService(createCouponService(platform), config.http, platform, context.scope)
})
