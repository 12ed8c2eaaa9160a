import { AppError } from '@waymark/contracts/app-error'
import { backfillEvents, trackEvents as trackOperation } from '@waymark/contracts/http/ingestion-operations'
import {
  MAX_BACKFILL_EVENTS,
  MAX_EVENTS_PER_REQUEST,
  MAX_TRACK_BODY_BYTES,
} from '@waymark/contracts/http/track-request'
import { dailyVisitorId } from '@waymark/domain/identity'
import { readSentAt } from '@waymark/domain/ingestion'
import type { VisitorHash } from '@waymark/pipeline'
import {
  answerLateWith,
  chargeProject,
  extendDeadline,
  type HttpRequest,
  type JsonBody,
  type KeyCall,
  keyRoute,
  type LimitRequests,
  type Platform,
  queryOf,
  type Route,
} from '@waymark/service-kit'
import type { IntakeOptions, Sender, TrackRequest } from './intake.ts'
import { type createTrackEvents, queueUnavailable } from './track-events.ts'

/** Bytes of one backfill body, after decompression. */
const MAX_BACKFILL_BODY_BYTES = 10 * 1024 * 1024
/** How much each event of a backfill extends the deadline, in ms: a full request gets about a statement's time limit. */
const MS_PER_EVENT = 30

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: LimitRequests
  trackEvents: ReturnType<typeof createTrackEvents>
  hashVisitor: VisitorHash['hashVisitor']
  clock: () => number
}

/** New events: 202 when they are durable, with the sync selector 200 when they are stored. */
export const trackRoute = ({ trackEvents, hashVisitor, clock, ...deps }: Deps): Route =>
  keyRoute(
    trackOperation,
    { ...deps, maxBodyBytes: MAX_TRACK_BODY_BYTES, numbers: 'any', beacons: true, work: 'ingestion' },
    async ({ apiKey, request, body }) => {
      const sender = senderOf(apiKey, request)
      const parsed = parseTrackRequest(body.value)
      const tracked = isCookieless(request, sender)
        ? withVisitor(parsed, () =>
            hashVisitor(clock(), sender.projectId, sender.ip ?? '', sender.userAgent ?? ''),
          )
        : parsed
      const options = { ...intakeOptions(request, body), backfill: false }
      if (!wantsSync(request))
        return { status: 202, body: await trackEvents.enqueue(tracked, sender, options) }
      // It uses the database for as long as the events take, so that it has no part in the reserve.
      chargeProject(apiKey, 'general')
      return { status: 200, body: await trackEvents.process(tracked, sender, options) }
    },
  )

/**
 * Historical events, stored before the answer. Every conversion must have an eventId, which identifies it when the
 * backfill is repeated.
 */
export const backfillRoute = ({ apiKeys, trackEvents }: Pick<Deps, 'apiKeys' | 'trackEvents'>): Route =>
  keyRoute(
    backfillEvents,
    { apiKeys, maxBodyBytes: MAX_BACKFILL_BODY_BYTES, numbers: 'any' },
    async ({ apiKey, request, body }) => {
      const tracked = parseTrackRequest(body.value, MAX_BACKFILL_EVENTS)
      extendDeadline(request, MS_PER_EVENT * tracked.rawEvents.length)
      const options = { ...intakeOptions(request, body), backfill: true }
      return { body: await trackEvents.process(tracked, senderOf(apiKey, request), options) }
    },
  )

/** @throws AppError bad_request for another value, or a key of a server, which has the address of no visitor */
const isCookieless = ({ url }: HttpRequest, { speaksForOthers }: Sender): boolean => {
  const isAsked = selects('The query parameter cookieless', queryOf(url)?.get('cookieless') ?? undefined)
  if (isAsked && speaksForOthers)
    throw new AppError(
      'bad_request',
      'cookieless is for pages, with a key of kind pub; send a visitorId with a key of kind sec',
    )
  return isAsked
}

/** Gives events without a visitor the one whose hash is `hash`. */
const withVisitor = (tracked: TrackRequest, hash: () => string): TrackRequest => {
  const visitorId = dailyVisitorId(hash())
  const complete = (raw: unknown): unknown => {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw
    const { visitorId: own } = raw as { visitorId?: unknown }
    return (own ?? null) === null ? { ...raw, visitorId } : raw
  }
  return { ...tracked, rawEvents: tracked.rawEvents.map(complete) }
}

/** The allowed fields of a body with several events. */
const BATCH_FIELDS = ['events', 'sentAt']

/**
 * Reads the events of a parsed body: `{ events: [...] }`, or one event.
 * @throws AppError bad_request for another body, no events, too many events or an unknown field beside them
 */
export const parseTrackRequest = (body: unknown, maxEvents = MAX_EVENTS_PER_REQUEST): TrackRequest => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('bad_request', 'The body must be an event or { "events": [...] }')
  }
  const { events, sentAt } = body as { events?: unknown; sentAt?: unknown }
  return {
    rawEvents: (events ?? null) === null ? [singleEvent(body)] : batch(body, events, maxEvents),
    ...readSentAt(sentAt),
  }
}

const singleEvent = (body: object): object => {
  if (!('eventName' in body)) throw new AppError('bad_request', 'The body needs an eventName, or events')
  if (!('sentAt' in body)) return body
  const { sentAt: _ofRequest, ...event } = body
  return event
}

const batch = (body: object, events: unknown, maxEvents: number): unknown[] => {
  const unknown = Object.keys(body).find((name) => !BATCH_FIELDS.includes(name))
  if (unknown !== undefined)
    throw new AppError(
      'bad_request',
      `${unknown.slice(0, 64)} is not a known field beside events; allowed: sentAt`,
    )
  if (!Array.isArray(events)) throw new AppError('bad_request', 'events must be an array')
  if (events.length === 0) throw new AppError('bad_request', 'events is empty')
  if (events.length > maxEvents) {
    throw new AppError('bad_request', `events holds ${events.length} events; ${maxEvents} are allowed`)
  }
  return events
}

/** The sender of a request, from its API key and connection. */
export const senderOf = (apiKey: KeyCall['apiKey'], { ip, headers }: HttpRequest): Sender => ({
  projectId: apiKey.projectId,
  validationMode: apiKey.validationMode,
  speaksForOthers: apiKey.kind === 'sec',
  isApp: apiKey.kind === 'pub' && headers.origin === undefined,
  ip: ip === '' ? null : ip,
  userAgent: headers['user-agent'] ?? null,
})

/** Whether the client asks for the synchronous path. @throws AppError bad_request when the selector has another value */
export const wantsSync = ({ url, headers }: Pick<HttpRequest, 'url' | 'headers'>): boolean => {
  const byHeader = selects('The header X-Service-Sync', headers['x-service-sync'])
  const byQuery = selects('The query parameter sync', queryOf(url)?.get('sync') ?? undefined)
  return byHeader || byQuery
}

const SYNC_VALUES: readonly string[] = ['1', 'true']
const MAX_SHOWN_LENGTH = 64

const selects = (what: string, value: string | string[] | undefined): boolean => {
  if (value === undefined) return false
  const text = `${value}`
  if (SYNC_VALUES.includes(text)) return true
  const received = JSON.stringify(text.slice(0, MAX_SHOWN_LENGTH).toWellFormed())
  throw new AppError('bad_request', `${what} must be 1 or true, or left out; got ${received}`)
}

/** The intake's options for a request. */
export const intakeOptions = (request: HttpRequest, body: JsonBody): Omit<IntakeOptions, 'backfill'> => ({
  bodyBytes: body.bytes,
  bodyDigest: body.digest,
  onClientTimeout: (then) => request.onEnd((status) => status === 503 && then()),
  whileQueueing: (work) => answerLateWith(request, queueUnavailable, work),
})
