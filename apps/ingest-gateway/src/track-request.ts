import { AppError, MAX_EVENTS_PER_REQUEST } from '@waymark/contracts'

// Each record carries a copy, so that a long one would multiply the request by its events.
const MAX_SENT_AT_LENGTH = 64

/** The events of one request as the client sent them, and its send time if it gave one. */
export type TrackRequest = { rawEvents: readonly unknown[]; sentAt: string | null }

/**
 * Finds the events in a parsed body: `{ events: [...] }`, or one event by itself.
 * @throws AppError bad_request when it is neither, or there are none or too many
 */
export const parseTrackRequest = (body: unknown, maxEvents = MAX_EVENTS_PER_REQUEST): TrackRequest => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('bad_request', 'The body must be an event or { "events": [...] }')
  }
  const { events, sentAt } = body as { events?: unknown; sentAt?: unknown }
  return {
    rawEvents: (events ?? null) === null ? singleEvent(body) : batch(events, maxEvents),
    sentAt: typeof sentAt === 'string' && sentAt.length <= MAX_SENT_AT_LENGTH ? sentAt : null,
  }
}

const singleEvent = (body: object): unknown[] => {
  if ('eventName' in body) return [body]
  throw new AppError('bad_request', 'The body needs an eventName, or events')
}

const batch = (events: unknown, maxEvents: number): unknown[] => {
  if (!Array.isArray(events)) throw new AppError('bad_request', 'events must be an array')
  if (events.length === 0) throw new AppError('bad_request', 'events is empty')
  if (events.length > maxEvents) {
    throw new AppError('bad_request', `events holds ${events.length} events; ${maxEvents} are allowed`)
  }
  return events
}
