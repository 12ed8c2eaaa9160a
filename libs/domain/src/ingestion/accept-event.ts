import { inspect } from 'node:util'
import {
  type AcceptedEvent,
  MAX_EVENT_BYTES,
  MAX_EVENT_DEPTH,
  parseRfc3339,
  type TrackedEvent,
  trackedEvent,
  type ValidationItem,
} from '@waymark/contracts'
import { isDeeperThan } from './json-depth.ts'
import { extentOf } from './json-extent.ts'

const MAX_SAMPLE_LENGTH = 256
/** How far ahead of its receipt an event may say that it happened, in ms. */
export const MAX_AHEAD_MS = 24 * 60 * 60 * 1000
/** What buggy clients send when they have no visitor id. */
const BUG_VALUES = ['', 'undefined', 'null', 'NaN', '[object Object]']

/** An event that may go on, with what is doubtful about its envelope; or why it may not. */
export type Acceptance =
  | { accepted: true; event: AcceptedEvent; warnings: ValidationItem[] }
  | { accepted: false; eventName: string; problem: ValidationItem }

/** What accepting an event needs to know of its surroundings. */
export type AcceptanceContext = {
  /** The server's clock at receipt, in ms since the epoch. */
  receivedAtMs: number
  /** Makes the id of an event that came without one. */
  newEventId: () => string
  /** False when the whole request is smaller than one event may be, which spares measuring each. */
  mayExceedSize: boolean
}

/** Checks the structure of one event as a client sent it, and gives it the shape of everything behind the gateway. */
export const acceptEvent = (raw: unknown, context: AcceptanceContext): Acceptance => {
  const problem = structuralProblem(raw, context.mayExceedSize)
  if (problem) {
    return { accepted: false, eventName: nameOf(raw), problem }
  }
  const sent = raw as TrackedEvent
  const warnings: ValidationItem[] = []
  const event: AcceptedEvent = {
    eventId: sent.eventId ?? context.newEventId(),
    eventName: sent.eventName,
    visitorId: checkVisitorId(sent.visitorId, warnings),
    userId: sent.userId ?? null,
    sessionId: sent.sessionId ?? null,
    properties: sent.properties ?? {},
    clientTimestamp: sent.clientTimestamp ?? null,
    shortLinkId: sent.shortLinkId ?? null,
    shortLinkCode: sent.shortLinkCode ?? null,
    clickIds: sent.clickIds ?? {},
  }
  checkClientTimestamp(sent.clientTimestamp, context.receivedAtMs, warnings)
  return { accepted: true, event, warnings }
}

const structural = (field: string, message: string): ValidationItem => ({ field, rule: 'structure', message })

const structuralProblem = (raw: unknown, mayExceedSize: boolean): ValidationItem | undefined => {
  const { tooDeep, outOfRange, bytesAtMost } = extentOf(raw, MAX_EVENT_DEPTH)
  if (tooDeep) return structural('', `is nested deeper than ${MAX_EVENT_DEPTH} levels`)
  if (outOfRange) return structural('', 'holds a number that is out of range')
  const problem = trackedEvent.check(raw)
  if (problem) return structural(problem.field, problem.message)
  // Writing it to count its bytes is worth sparing, and nearly always can be.
  const maybeTooLarge = mayExceedSize && bytesAtMost > MAX_EVENT_BYTES
  if (maybeTooLarge && Buffer.byteLength(JSON.stringify(raw)) > MAX_EVENT_BYTES) {
    return structural('', `is larger than ${MAX_EVENT_BYTES} bytes`)
  }
  return undefined
}

const checkVisitorId = (visitorId: string | null | undefined, warnings: ValidationItem[]): string | null => {
  if (visitorId === null || visitorId === undefined) {
    warnings.push({ field: 'visitorId', rule: 'missing_visitor_id', message: 'visitorId is missing' })
    return null
  }
  if (BUG_VALUES.includes(visitorId)) {
    warnings.push({
      field: 'visitorId',
      rule: 'invalid_visitor_id',
      actual: visitorId,
      message: 'visitorId looks like a bug in the client and is treated as missing',
    })
    return null
  }
  return visitorId
}

const checkClientTimestamp = (
  sent: string | null | undefined,
  receivedAtMs: number,
  warnings: ValidationItem[],
): void => {
  if (sent === null || sent === undefined) return
  const time = parseRfc3339(sent)
  const warn = (rule: string, message: string) =>
    warnings.push({ field: 'clientTimestamp', rule, actual: sent.slice(0, 64).toWellFormed(), message })
  if (time === undefined) {
    warn('invalid_timestamp', 'clientTimestamp is not an RFC 3339 time; the time of receipt is used')
  } else if (time - receivedAtMs > MAX_AHEAD_MS) {
    warn('future_timestamp', 'clientTimestamp is over 24 hours ahead; the time of receipt is used')
  }
}

const nameOf = (raw: unknown): string => {
  const name = (raw as { eventName?: unknown } | null)?.eventName
  return typeof name === 'string' ? name.slice(0, 200).toWellFormed() : ''
}

/** The beginning of what a client sent, at most 256 characters, for showing it why it was refused. */
export const sampleOf = (raw: unknown): string => {
  const tooDeep = isDeeperThan(raw, MAX_EVENT_DEPTH)
  const text = tooDeep
    ? inspect(raw, { depth: 2, breakLength: Number.POSITIVE_INFINITY })
    : JSON.stringify(raw)
  return text.slice(0, MAX_SAMPLE_LENGTH).toWellFormed()
}
