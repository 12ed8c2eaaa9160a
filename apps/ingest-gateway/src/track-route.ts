import { MAX_TRACK_BODY_BYTES } from '@waymark/contracts'
import { bodyOf, jsonBody, type Platform, type Route, requireApiKey } from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import { senderOf, wantsSync } from './sender.ts'
import type { createTrackEvents } from './track-events.ts'
import { parseTrackRequest } from './track-request.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: RequestHandler
  trackEvents: ReturnType<typeof createTrackEvents>
}

/** `POST /api/v1/t`: 202 when the events are durable, 200 with `sync=1` or `X-Service-Sync: 1` when they are stored. */
export const trackRoute = ({ apiKeys, limitRequests, trackEvents }: Deps): Route => ({
  method: 'post',
  path: '/api/v1/t',
  handlers: [
    requireApiKey(apiKeys, 'events:write'),
    limitRequests,
    ...jsonBody(MAX_TRACK_BODY_BYTES),
    async (req, res) => {
      const { value, bytes, digest } = bodyOf(req)
      const request = parseTrackRequest(value)
      const sender = senderOf(req, res)
      const options = { bodyBytes: bytes, bodyDigest: digest, backfill: false }
      if (wantsSync(req)) res.json(await trackEvents.process(request, sender, options))
      else res.status(202).json(await trackEvents.enqueue(request, sender, options))
    },
  ],
})
