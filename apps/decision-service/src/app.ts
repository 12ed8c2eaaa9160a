import { exposures } from '@waymark/contracts'
import { createAssignCoupon, createBackgroundPublisher, resolveProfiles } from '@waymark/pipeline'
import { type Platform, rateLimit, type Service } from '@waymark/service-kit'
import { createDecide } from './decide.ts'
import { decideRoute } from './decide-route.ts'
import { createExpose } from './expose.ts'
import { createFindPerson } from './find-person.ts'
import { createGiveCoupon } from './give-coupon.ts'
import { ofrepRoutes } from './ofrep-routes.ts'

/** Smaller limits are held exactly over all processes, which takes a question to Redis for each request. */
const EXACT_BELOW_PER_MINUTE = 1_000

/** Decides which variant a person sees. */
export const createDecisionService = (platform: Platform): Service => {
  const { db, bus, cache, log, apiKeys, projectConfigs, frequencyCaps, limits, clock, steadyClock } = platform
  const publisher = createBackgroundPublisher({ topic: exposures, lane: 'exposures', bus, db, log })
  const decide = createDecide({
    projectConfigs,
    findPerson: createFindPerson({ pool: db.pool, cache, log, now: steadyClock, clock }),
    createProfile: async ({ projectId, kind, value }) => {
      const person = { projectId, visitorId: null, userId: null, [`${kind}Id`]: value }
      return (await resolveProfiles(db.pool, [person]))[0] ?? null
    },
    frequencyCaps,
    giveCoupon: createGiveCoupon({ assignCoupon: createAssignCoupon(db, clock), cache, log }),
    expose: createExpose(publisher),
    clock,
  })
  // What a generous limit lets pass too much, until processes have told each other, is a small part of it.
  const limiter =
    limits.decidePerMinute < EXACT_BELOW_PER_MINUTE ? platform.rateLimiter : platform.ingestRateLimiter
  const limit = (bucket: string) => rateLimit({ limiter, bucket, limitFor: () => limits.decidePerMinute })
  return {
    routes: [
      decideRoute({ apiKeys, limitRequests: limit('decide'), decide }),
      ...ofrepRoutes({ apiKeys, limitRequests: limit('ofrep'), decide }),
    ],
    loops: [
      {
        name: 'exposures',
        everyMs: 0,
        run: async (signal) => {
          await publisher.run(signal)
          return false
        },
      },
    ],
  }
}
