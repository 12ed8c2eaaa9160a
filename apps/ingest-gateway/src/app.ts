import { createProcessAtOnce } from '@waymark/pipeline'
import type { Platform, Service } from '@waymark/service-kit'
import { createTrackEvents } from './track-events.ts'
import { trackRoute } from './track-route.ts'

/** Takes events in: what it has answered 2xx is durable. */
export const createIngestGateway = ({ db, bus, analytics, apiKeys, clock }: Platform): Service => {
  const processAtOnce = createProcessAtOnce({ db, analytics })
  const trackEvents = createTrackEvents({ bus, processAtOnce, clock })
  return { routes: [trackRoute({ apiKeys, trackEvents })] }
}
