import { exposures } from '@waymark/contracts/topics'
import {
  createBackgroundPublisher,
  createDeliverySampler,
  createExpose,
  createIngestQueue,
  createPersonChanges,
  createSyncProcessor,
  createVisitorHash,
} from '@waymark/pipeline'
import { countStoredEvents, everyMs, type Platform, type Service, untilStopped } from '@waymark/service-kit'
import { Router } from 'express'
import { createCollectMessages } from './client-messages/collect-messages.ts'
import { createIdentify } from './identify.ts'
import { identifyRoute, profileRoute } from './identify-routes.ts'
import { createIntake } from './intake.ts'
import { createLimits } from './limits.ts'
import { createReportFlagCalls } from './posthog-protocol/flag-calls.ts'
import { postHogProtocolRoutes } from './posthog-protocol/posthog-protocol-routes.ts'
import { scriptRoutes } from './script-routes.ts'
import { segmentProtocolRoutes } from './segment-protocol/segment-protocol-routes.ts'
import { createTrackEvents } from './track-events.ts'
import { backfillRoute, trackRoute } from './track-routes.ts'

const WATCH_SPOOL_MS = 1_000
const SHARE_SALTS_MS = 60_000
const STORE_SAMPLES_MS = 1_000

/** Accepts events and profile writes. What it answers with 2xx is durable. */
export const createIngestGateway = (platform: Platform): Service => {
  const { db, bus, cache, eventStore, apiKeys, projectConfigs, locate, clock, steadyClock, log } = platform
  const queue = createIngestQueue({ bus, db, log, now: steadyClock })
  const onStored = countStoredEvents(platform.metrics)
  const processSync = createSyncProcessor({ db, eventStore, projectConfigs, locate, onStored })
  const intake = createIntake({ projectConfigs, cache, clock })
  const deliveries = createDeliverySampler({ pool: db.pool, oneIn: platform.limits.auditOneIn })
  const trackEvents = createTrackEvents({ intake, queue, processSync, onAccepted: deliveries.sample })
  const { identify, writeProfile, changePeople } = createIdentify({
    db,
    queue,
    projectConfigs,
    personChanges: createPersonChanges(platform.marks),
    clock,
  })
  const publisher = createBackgroundPublisher({ topic: exposures, lane: 'exposures', bus, db, log })
  const collectMessages = createCollectMessages({
    projectConfigs,
    changePeople,
    trackEvents,
    reportFlagCalls: createReportFlagCalls({ projectConfigs, expose: createExpose(publisher), clock }),
    clock,
  })
  const limits = createLimits(platform)
  const { shareSalts, hashVisitor } = createVisitorHash({ pool: db.pool, now: clock, purpose: 'pages' })
  const messages = {
    apiKeys,
    limitRequests: limits.track,
    limitPeople: limits.people,
    collectMessages,
    clock,
  }
  return {
    router: Router(),
    routes: [
      trackRoute({ apiKeys, limitRequests: limits.track, trackEvents, hashVisitor, clock }),
      identifyRoute({ apiKeys, limitRequests: limits.identify, identify }),
      profileRoute({ apiKeys, limitRequests: limits.profile, writeProfile }),
      backfillRoute({ apiKeys, trackEvents }),
      ...segmentProtocolRoutes(messages),
      ...postHogProtocolRoutes(messages),
      ...scriptRoutes(),
    ],
    loops: [
      everyMs('spool', WATCH_SPOOL_MS, queue.watchSpool),
      everyMs('visitor-salts', SHARE_SALTS_MS, shareSalts),
      everyMs('delivery-samples', STORE_SAMPLES_MS, deliveries.storeSamples),
      untilStopped('reported-exposures', publisher.run),
    ],
  }
}
