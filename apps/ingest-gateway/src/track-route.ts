import { MAX_TRACK_BODY_BYTES, trackEvents as operation } from '@waymark/contracts'
import { directKeyRoute, type LimitRequests, type Platform, type Route } from '@waymark/service-kit'
import { senderOf, wantsSync, whenGivenUp } from './sender.ts'
import type { createTrackEvents } from './track-events.ts'
import { parseTrackRequest } from './track-request.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: LimitRequests
  trackEvents: ReturnType<typeof createTrackEvents>
}

/** 202 when the events are durable; 200 with `sync=1` or `X-Service-Sync: 1` when they are stored. */
export const trackRoute = ({ trackEvents, ...deps }: Deps): Route =>
  directKeyRoute(
    operation,
    { ...deps, maxBodyBytes: MAX_TRACK_BODY_BYTES, numbers: 'any' },
    async ({ body, req, res, ...by }) => {
      const request = parseTrackRequest(body.value)
      const sender = senderOf({ req, ...by })
      const options = {
        bodyBytes: body.bytes,
        bodyDigest: body.digest,
        backfill: false,
        whenGivenUp: whenGivenUp(res),
      }
      if (wantsSync(req))
        return { status: 200, json: JSON.stringify(await trackEvents.process(request, sender, options)) }
      return { status: 202, json: JSON.stringify(await trackEvents.enqueue(request, sender, options)) }
    },
  )
