import { CLIENT_TIME_WORDS, rfc3339OfClientTime } from '@waymark/contracts/client-time'
import {
  MAX_EVENT_BYTES,
  MAX_EVENT_DEPTH,
  TrackedEvent,
  trackedEvent,
} from '@waymark/contracts/http/track-request'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { numbersThatLostDigits } from '@waymark/contracts/number-source'
import { isPlaceholderId } from '@waymark/contracts/placeholder-id'
import type { AcceptedEvent } from '@waymark/contracts/records/ingest-record'
import { timeOf } from '../enrichment/corrected-time.ts'
import { extentOf, isHeavierThan, type JsonExtent, jsonStart, memberStart } from '../json/client-json.ts'

const MAX_SAMPLE_LENGTH = 256
/** Maximum warnings of one kind per event, because an event could have thousands of short names. */
const MAX_WARNINGS = 10
const MAX_NAME_LENGTH = 64
const KNOWN_FIELDS: ReadonlySet<string> = new Set(Object.keys(TrackedEvent.properties))
/** An accepted event with warnings about its fields, or the problem of a refused one. */
export type Acceptance =
  | { accepted: true; event: AcceptedEvent; warnings: ValidationItem[] }
  | { accepted: false; eventName: string; problem: ValidationItem }

/** The parameters of the checks that do not come from the event. */
export type AcceptanceContext = {
  /** The server's clock at receipt, in ms since the epoch. */
  receivedAtMs: number
  /** When the client sent the request by its own clock; null if the event's time must not be corrected. */
  sentAt: string | null
  /** A warning for every event of the request whose send time cannot be used. */
  sentAtProblem?: ValidationItem
  /** Whether the event is of the past, so that the time of receipt cannot replace a time that cannot be read. */
  isHistory?: boolean
  /** Generates the id of an event without one. */
  newEventId: () => string
  /** False when the whole request is smaller than the maximum size of an event. Then events are not measured. */
  mayExceedSize: boolean
}

/** Checks the structure of one event from a client, and normalizes it. */
export const acceptEvent = (raw: unknown, context: AcceptanceContext): Acceptance => {
  const extent = extentOf(raw, MAX_EVENT_DEPTH)
  const problem = structuralProblem(raw, extent, context)
  if (problem) {
    return { accepted: false, eventName: nameOf(raw), problem }
  }
  const sent = raw as TrackedEvent
  const warnings: ValidationItem[] = context.sentAtProblem ? [context.sentAtProblem] : []
  const event: AcceptedEvent = {
    eventId: usableId('eventId', sent.eventId, warnings) ?? context.newEventId(),
    eventName: sent.eventName,
    properties: sent.properties ?? {},
  }
  const visitorId = checkVisitorId(sent.visitorId, warnings)
  if (visitorId !== undefined) event.visitorId = visitorId
  const userId = usableId('userId', sent.userId, warnings)
  if (userId !== undefined) event.userId = userId
  const sessionId = usableId('sessionId', sent.sessionId, warnings)
  if (sessionId !== undefined) event.sessionId = sessionId
  if (isGiven(sent.clientTimestamp)) {
    event.clientTimestamp = rfc3339OfClientTime(sent.clientTimestamp) ?? `${sent.clientTimestamp}`
    checkClientTimestamp(event.clientTimestamp, context, warnings)
  }
  if (isGiven(sent.shortLinkId)) event.shortLinkId = sent.shortLinkId
  if (isGiven(sent.shortLinkCode)) event.shortLinkCode = sent.shortLinkCode
  if (isGiven(sent.clickIds) && Object.keys(sent.clickIds).length > 0) event.clickIds = sent.clickIds
  warnOfUnknownFields(sent, warnings)
  if (extent.mayLackDigits) warnOfLostDigits(sent.properties, warnings)
  return { accepted: true, event, warnings }
}

const isGiven = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined

/** Whether an event id counts as missing: absent, empty, or a value that buggy clients send instead of an id. */
export const isMissingId = (id: unknown): boolean =>
  id === null || id === undefined || (typeof id === 'string' && isPlaceholderId(id))

const structural = (field: string, message: string): ValidationItem => ({ field, rule: 'structure', message })

const structuralProblem = (
  raw: unknown,
  { tooDeep, outOfRange, bytesAtMost }: JsonExtent,
  { mayExceedSize, isHistory = false }: AcceptanceContext,
): ValidationItem | undefined => {
  if (tooDeep) return structural('', `is nested deeper than ${MAX_EVENT_DEPTH} levels`)
  if (outOfRange) return structural('', 'holds a number that is out of range')
  const problem = trackedEvent.check(raw)
  if (problem) return structural(problem.field, problem.message)
  const maybeTooLarge = mayExceedSize && bytesAtMost > MAX_EVENT_BYTES
  if (maybeTooLarge && exceedsEventSize(raw)) return structural('', `is larger than ${MAX_EVENT_BYTES} bytes`)
  return isHistory ? timeProblem(raw as TrackedEvent) : undefined
}

const timeProblem = (event: TrackedEvent): ValidationItem | undefined => {
  const { clientTimestamp: time } = event
  if (!isGiven(time) || rfc3339OfClientTime(time) !== undefined) return undefined
  const received = memberStart(event, 'clientTimestamp', MAX_NAME_LENGTH)
  return structural('clientTimestamp', `must be ${CLIENT_TIME_WORDS}; got ${received}`)
}

/**
 * Whether the compact JSON of an event is larger than allowed. An event with too many values is too large without
 * serializing it, because each value takes at least two bytes.
 */
export const exceedsEventSize = (raw: unknown): boolean =>
  isHeavierThan(raw, MAX_EVENT_BYTES / 2) || Buffer.byteLength(JSON.stringify(raw)) > MAX_EVENT_BYTES

const checkVisitorId = (
  visitorId: string | null | undefined,
  warnings: ValidationItem[],
): string | undefined => {
  if (!isGiven(visitorId)) {
    warnings.push({ field: 'visitorId', rule: 'missing_visitor_id', message: 'visitorId is missing' })
    return undefined
  }
  return usableId('visitorId', visitorId, warnings)
}

const ID_RULES = {
  eventId: 'invalid_event_id',
  visitorId: 'invalid_visitor_id',
  userId: 'invalid_user_id',
  sessionId: 'invalid_session_id',
} as const

const usableId = (
  field: keyof typeof ID_RULES,
  id: string | null | undefined,
  warnings: ValidationItem[],
): string | undefined => {
  if (!isGiven(id)) return undefined
  if (!isMissingId(id)) return id
  const message = `${field} looks like a bug in the client and is treated as missing`
  warnings.push({ field, rule: ID_RULES[field], actual: id, message })
  return undefined
}

const checkClientTimestamp = (
  sent: string,
  { receivedAtMs, sentAt }: AcceptanceContext,
  warnings: ValidationItem[],
): void => {
  const { problem } = timeOf(sent, sentAt, receivedAtMs)
  if (problem === undefined) return
  const { rule, message } = TIME_PROBLEMS[problem]
  const actual = sent.slice(0, MAX_NAME_LENGTH).toWellFormed()
  warnings.push({ field: 'clientTimestamp', rule, actual, message })
}

const TIME_PROBLEMS = {
  invalid: {
    rule: 'invalid_timestamp',
    message: `clientTimestamp is not ${CLIENT_TIME_WORDS}; the time of receipt is used`,
  },
  future: {
    rule: 'future_timestamp',
    message: 'clientTimestamp is over 24 hours ahead; the time of receipt is used',
  },
  past: {
    rule: 'invalid_timestamp',
    message: 'clientTimestamp, corrected by sentAt, is before the year 1; the time of receipt is used',
  },
} as const

const warnOfUnknownFields = (sent: object, warnings: ValidationItem[]): void => {
  let unknown = 0
  for (const name in sent) {
    if (KNOWN_FIELDS.has(name)) continue
    if (unknown++ === MAX_WARNINGS) return
    const field = name.length > MAX_NAME_LENGTH ? name.slice(0, MAX_NAME_LENGTH).toWellFormed() : name
    warnings.push({ field, rule: 'unknown_field', message: UNKNOWN_FIELD })
  }
}

/** The numbers are stored as a double holds them, which is wrong for ids. */
const warnOfLostDigits = (properties: unknown, warnings: ValidationItem[]): void => {
  for (const { path, source, value } of numbersThatLostDigits(properties, MAX_WARNINGS)) {
    const field = `properties.${path}`.slice(0, MAX_NAME_LENGTH).toWellFormed()
    const message = `has more digits than a number keeps and is stored as ${value}; send ids as text`
    warnings.push({ field, rule: 'inexact_number', actual: source.slice(0, MAX_NAME_LENGTH), message })
  }
}

const UNKNOWN_FIELD = `is not a field of an event and is ignored; known are ${[...KNOWN_FIELDS].join(', ')}, and anything else belongs in properties`

const nameOf = (raw: unknown): string => {
  const name = (raw as { eventName?: unknown } | null)?.eventName
  return typeof name === 'string' ? name.slice(0, 200).toWellFormed() : ''
}

/** The first 256 characters of a refused event, to show to the client. */
export const sampleOf = (raw: unknown): string => jsonStart(raw, MAX_SAMPLE_LENGTH)

/** When a client sent a request by its own clock, and a warning if that cannot be used. */
export type SentAt = { sentAt: string | null; sentAtProblem?: ValidationItem }

/** Maximum characters. It is stored with every event of the request. */
const MAX_LENGTH = 64
/** A day does not tell by how much a clock is off. */
const DATE_ONLY = /^\s*\d{4}-?\d\d-?\d\d\s*$/

/** Reads the send time of a request. What is not a time counts as missing. */
export const readSentAt = (value: unknown): SentAt => {
  if (value === null || value === undefined) return { sentAt: null }
  const isNoMoment = typeof value === 'string' && (value.length > MAX_LENGTH || DATE_ONLY.test(value))
  const sentAt = isNoMoment ? undefined : rfc3339OfClientTime(value)
  if (sentAt !== undefined) return { sentAt }
  const actual = typeof value === 'string' ? value.slice(0, MAX_LENGTH).toWellFormed() : undefined
  return {
    sentAt: null,
    sentAtProblem: {
      field: 'sentAt',
      rule: 'invalid_sent_at',
      ...(actual !== undefined && { actual }),
      message: `sentAt of the request is not ${CLIENT_TIME_WORDS}, and is treated as missing`,
    },
  }
}
