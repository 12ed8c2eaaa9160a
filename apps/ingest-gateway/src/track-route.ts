import { MAX_TRACK_BODY_BYTES, trackEvents as operation } from '@waymark/contracts'
import { bodyOf, jsonBody, keyRoute, type Platform, type Route } from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import { senderOf, wantsSync } from './sender.ts'
import type { createTrackEvents } from './track-events.ts'
import { parseTrackRequest } from './track-request.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: RequestHandler
  trackEvents: ReturnType<typeof createTrackEvents>
}

/** 202 when the events are durable; 200 with `sync=1` or `X-Service-Sync: 1` when they are stored. */
export const trackRoute = ({ trackEvents, ...deps }: Deps): Route =>
  keyRoute(
    operation,
    { ...deps, readBody: jsonBody(MAX_TRACK_BODY_BYTES, { numbers: 'any' }) },
    async (req, res) => {
      const { value, bytes, digest } = bodyOf(req)
      const request = parseTrackRequest(value)
      const sender = senderOf(req, res)
      const options = { bodyBytes: bytes, bodyDigest: digest, backfill: false }
      if (wantsSync(req)) res.json(await trackEvents.process(request, sender, options))
      else res.status(202).json(await trackEvents.enqueue(request, sender, options))
    },
  )
