import { MAX_TRACK_BODY_BYTES } from '@waymark/contracts'
import { apiKeyOf, bodyOf, jsonBody, type Platform, type Route, requireApiKey } from '@waymark/service-kit'
import type { Request, RequestHandler, Response } from 'express'
import type { createTrackEvents, Sender } from './track-events.ts'
import { parseTrackRequest } from './track-request.ts'

type Deps = { apiKeys: Platform['apiKeys']; trackEvents: ReturnType<typeof createTrackEvents> }

/** `POST /api/v1/t`: 202 when the events are queued, 200 with `sync=1` or `X-Service-Sync: 1` when they are stored. */
export const trackRoute = ({ apiKeys, trackEvents }: Deps): Route => {
  const answer: RequestHandler = async (req, res) => {
    const { value, bytes } = bodyOf(req)
    const request = parseTrackRequest(value)
    const sender = senderOf(req, res)
    if (wantsSync(req)) res.json(await trackEvents.process(request, sender, bytes))
    else res.status(202).json(await trackEvents.enqueue(request, sender, bytes))
  }
  return {
    method: 'post',
    path: '/api/v1/t',
    handlers: [requireApiKey(apiKeys, 'events:write'), ...jsonBody(MAX_TRACK_BODY_BYTES), answer],
  }
}

const wantsSync = (req: Request): boolean => req.query.sync === '1' || req.get('X-Service-Sync') === '1'

const senderOf = (req: Request, res: Response): Sender => {
  const { projectId, kind } = apiKeyOf(res)
  return {
    projectId,
    speaksForOthers: kind === 'sec',
    ip: req.ip ?? null,
    userAgent: req.get('User-Agent') ?? null,
  }
}
