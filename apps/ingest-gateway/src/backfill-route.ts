import { MAX_BACKFILL_EVENTS, backfillEvents as operation } from '@waymark/contracts'
import { apiKeyOf, bodyOf, jsonBody, keyRoute, type Platform, type Route } from '@waymark/service-kit'
import { senderOf, whenGivenUp } from './sender.ts'
import type { createTrackEvents } from './track-events.ts'
import { parseTrackRequest } from './track-request.ts'

/** Bytes of one request body, after decompression. */
const MAX_BACKFILL_BODY_BYTES = 10 * 1024 * 1024

type Deps = { apiKeys: Platform['apiKeys']; trackEvents: ReturnType<typeof createTrackEvents> }

/**
 * Events of the past, stored before the answer. Every conversion among them must bring its own eventId, since a
 * repeated backfill has nothing else to be recognised by.
 */
export const backfillRoute = ({ apiKeys, trackEvents }: Deps): Route =>
  keyRoute(
    operation,
    { apiKeys, readBody: jsonBody(MAX_BACKFILL_BODY_BYTES, { numbers: 'any' }) },
    async (req, res) => {
      const { value, bytes, digest } = bodyOf(req)
      const request = parseTrackRequest(value, MAX_BACKFILL_EVENTS)
      res.json(
        await trackEvents.process(request, senderOf({ apiKey: apiKeyOf(res), ip: req.ip ?? '', req }), {
          bodyBytes: bytes,
          bodyDigest: digest,
          backfill: true,
          whenGivenUp: whenGivenUp(res),
        }),
      )
    },
  )
