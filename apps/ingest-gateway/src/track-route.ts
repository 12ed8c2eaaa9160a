import { MAX_TRACK_BODY_BYTES, trackEvents as operation } from '@waymark/contracts'
import {
  directKeyRoute,
  type KeyAnswer,
  type LimitRequests,
  type Platform,
  type Route,
} from '@waymark/service-kit'
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
    ({ body, req, res, ...by }) => {
      const request = parseTrackRequest(body.value)
      const sender = senderOf({ req, ...by })
      const options = {
        bodyBytes: body.bytes,
        bodyDigest: body.digest,
        backfill: false,
        whenGivenUp: whenGivenUp(res),
      }
      return wantsSync(req)
        ? answerWith(200, trackEvents.process(request, sender, options))
        : answerWith(202, trackEvents.enqueue(request, sender, options))
    },
  )

const answerWith = async (status: number, result: Promise<unknown>): Promise<KeyAnswer> => ({
  status,
  json: JSON.stringify(await result),
})
