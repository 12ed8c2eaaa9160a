import { exposures } from '@waymark/contracts/topics'
import {
  createAssignCoupon,
  createBackgroundPublisher,
  createExpose,
  resolveProfiles,
} from '@waymark/pipeline'
import {
  type Config,
  type CorePlatform,
  limiterBySize,
  rateLimit,
  readConfig,
  type Service,
  untilStopped,
} from '@waymark/service-kit'
import { Router } from 'express'
import { flagStreamConfig } from './config.ts'
import { createDecide } from './decide.ts'
import { decideRoute } from './decide-route.ts'
import { createEvaluations } from './evaluations.ts'
import { createFindPerson } from './find-person.ts'
import { flagDefinitionsRoute } from './flag-definitions-route.ts'
import { createFlagDocuments } from './flag-documents.ts'
import { flagStreamRoute } from './flag-stream-route.ts'
import { createFlagStreams } from './flag-streams.ts'
import { createFlagSync } from './flag-sync.ts'
import { listenForGrpc } from './grpc-server.ts'
import { ofrepRoutes } from './ofrep-routes.ts'
import { postHogFlagsRoutes } from './posthog-flags-routes.ts'
import { reportExposuresRoute } from './report-exposures.ts'
import { createAssignVariantCoupon } from './variant-coupon.ts'

export { flagStreamConfig } from './config.ts'

/** Decides which variant a person sees. */
export const createDecisionService = (
  platform: CorePlatform,
  settings: Partial<Config<typeof flagStreamConfig>> = {},
): Service => {
  const flagStreams = { ...readConfig(flagStreamConfig, {}), ...settings }
  const { db, bus, cache, marks, log, apiKeys, projectConfigs, frequencyCaps, limits, clock, steadyClock } =
    platform
  const publisher = createBackgroundPublisher({ topic: exposures, lane: 'exposures', bus, db, log })
  const expose = createExpose(publisher)
  const evaluations = createEvaluations({ db, clock })
  const decide = createDecide({
    projectConfigs,
    findPerson: createFindPerson({ pool: db.pool, cache, marks, log, now: steadyClock, clock }),
    createProfile: async ({ projectId, kind, value }) => {
      const person = { projectId, visitorId: null, userId: null, [`${kind}Id`]: value }
      return (await resolveProfiles(db.pool, [person]))[0] ?? null
    },
    frequencyCaps,
    assignVariantCoupon: createAssignVariantCoupon({
      assignCoupon: createAssignCoupon(db, clock),
      cache,
      log,
    }),
    expose,
    noteEvaluated: evaluations.note,
    clock,
  })
  const streams = createFlagStreams({ ...platform, limits: flagStreams })
  const limit = (bucket: string) =>
    rateLimit({
      limiter: limiterBySize(platform),
      bucket,
      limitFor: () => ({ perMinute: limits.decidePerMinute, setting: 'LIMIT_DECIDE_PER_MINUTE' }),
      perKey: true,
    })
  const readDocument = createFlagDocuments(projectConfigs)
  const noteEvaluated = evaluations.note
  const sync = createFlagSync({
    ...platform,
    readDocument,
    limitRequests: limit('flag-sync'),
    noteEvaluated,
    limits: flagStreams,
  })
  const { syncPort } = flagStreams
  return {
    router: Router(),
    routes: [
      decideRoute({ apiKeys, limitRequests: limit('decide'), decide }),
      reportExposuresRoute({
        apiKeys,
        projectConfigs,
        clock,
        expose,
        noteEvaluated: evaluations.note,
        limitRequests: limit('exposures'),
      }),
      ...ofrepRoutes({ apiKeys, limitRequests: limit('ofrep'), decide, streams }),
      ...postHogFlagsRoutes({ apiKeys, limitRequests: limit('posthog-flags'), decide, clock }),
      flagStreamRoute({ apiKeys, limitRequests: limit('flag-streams'), streams }),
      flagDefinitionsRoute({ apiKeys, limitRequests: limit('flag-sync'), readDocument, noteEvaluated }),
    ],
    loops: [untilStopped('exposures', publisher.run), streams.loop, sync.loop, evaluations.loop],
    servers:
      syncPort === 0
        ? []
        : [{ name: 'flag-sync', listen: (host) => listenForGrpc(sync.methods, log, syncPort, host) }],
  }
}
