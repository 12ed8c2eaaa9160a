import { createIngestQueue, createProcessAtOnce } from '@waymark/pipeline'
import type { Platform, Service } from '@waymark/service-kit'
import { backfillRoute } from './backfill-route.ts'
import { createIdentify } from './identify.ts'
import { identifyRoute } from './identify-route.ts'
import { createIntake } from './intake.ts'
import { createLimits } from './limits.ts'
import { profileRoute } from './profile-route.ts'
import { createTrackEvents } from './track-events.ts'
import { trackRoute } from './track-route.ts'

const WATCH_SPOOL_MS = 1_000

/** Takes events in: what it has answered 2xx is durable. */
export const createIngestGateway = (platform: Platform): Service => {
  const { db, bus, cache, analytics, apiKeys, projectConfigs, locate, clock, steadyClock, log } = platform
  const queue = createIngestQueue({ bus, db, log, now: steadyClock })
  const processAtOnce = createProcessAtOnce({ db, analytics, projectConfigs, lookups: { locate } })
  const intake = createIntake({ projectConfigs, cache, clock })
  const trackEvents = createTrackEvents({ intake, queue, processAtOnce })
  const { identify, writeProfile } = createIdentify({ db, queue, projectConfigs, clock })
  const watchSpool = async (): Promise<boolean> => {
    await queue.watchSpool()
    return false
  }
  const limits = createLimits(platform)
  return {
    routes: [
      trackRoute({ apiKeys, limitRequests: limits.track, trackEvents }),
      identifyRoute({ apiKeys, limitRequests: limits.identify, identify }),
      profileRoute({ apiKeys, limitRequests: limits.profile, writeProfile }),
      backfillRoute({ apiKeys, trackEvents }),
    ],
    loops: [{ name: 'spool', everyMs: WATCH_SPOOL_MS, run: watchSpool }],
  }
}
