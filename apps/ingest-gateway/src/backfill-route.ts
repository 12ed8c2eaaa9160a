import { bodyOf, jsonBody, type Platform, type Route, requireApiKey } from '@waymark/service-kit'
import { senderOf } from './sender.ts'
import type { createTrackEvents } from './track-events.ts'
import { parseTrackRequest } from './track-request.ts'

/** Bytes of one request body, after decompression. */
const MAX_BACKFILL_BODY_BYTES = 10 * 1024 * 1024
/** Events in one request. */
const MAX_BACKFILL_EVENTS = 1_000

type Deps = { apiKeys: Platform['apiKeys']; trackEvents: ReturnType<typeof createTrackEvents> }

/**
 * `POST /internal/backfill/events`: events of the past, stored before the answer. Every conversion among them must
 * bring its own eventId, since a repeated backfill has nothing else to be recognised by.
 */
export const backfillRoute = ({ apiKeys, trackEvents }: Deps): Route => ({
  method: 'post',
  path: '/internal/backfill/events',
  handlers: [
    requireApiKey(apiKeys, 'events:backfill'),
    ...jsonBody(MAX_BACKFILL_BODY_BYTES),
    async (req, res) => {
      const { value, bytes, digest } = bodyOf(req)
      const request = parseTrackRequest(value, MAX_BACKFILL_EVENTS)
      res.json(
        await trackEvents.process(request, senderOf(req, res), {
          bodyBytes: bytes,
          bodyDigest: digest,
          backfill: true,
        }),
      )
    },
  ],
})
