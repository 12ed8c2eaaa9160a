import { AppError, MAX_EVENTS_PER_REQUEST } from '@waymark/contracts'

/** The events of one request as the client sent them, and its send time if it gave one. */
export type TrackRequest = { rawEvents: readonly unknown[]; sentAt: string | null }

/**
 * Finds the events in a parsed body: `{ events: [...] }`, or one event by itself.
 * @throws AppError bad_request when it is neither, or there are none or too many
 */
export const parseTrackRequest = (body: unknown): TrackRequest => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new AppError('bad_request', 'The body must be an event or { "events": [...] }')
  }
  const { events, sentAt } = body as { events?: unknown; sentAt?: unknown }
  return {
    rawEvents: events === undefined ? singleEvent(body) : batch(events),
    sentAt: typeof sentAt === 'string' ? sentAt : null,
  }
}

const singleEvent = (body: object): unknown[] => {
  if ('eventName' in body) return [body]
  throw new AppError('bad_request', 'The body needs an eventName, or events')
}

const batch = (events: unknown): unknown[] => {
  if (!Array.isArray(events)) throw new AppError('bad_request', 'events must be an array')
  if (events.length === 0) throw new AppError('bad_request', 'events is empty')
  if (events.length > MAX_EVENTS_PER_REQUEST) {
    throw new AppError(
      'bad_request',
      `events holds ${events.length} events; ${MAX_EVENTS_PER_REQUEST} are allowed`,
    )
  }
  return events
}
