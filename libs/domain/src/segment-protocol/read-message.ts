import { CLIENT_TIME_WORDS, rfc3339OfClientTime } from '@waymark/contracts/client-time'
import { identifyRequest, MAX_TRAITS_DEPTH, profileRequest } from '@waymark/contracts/http/identify'
import { trackedEvent } from '@waymark/contracts/http/track-request'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { mergeMembers, withIntegersAsText } from '@waymark/contracts/number-source'
import { PLACEHOLDER_KEYWORD } from '@waymark/contracts/placeholder-id'
import type { ProjectSettings } from '@waymark/contracts/project-settings'
import { MAX_ID_LENGTH } from '@waymark/contracts/schema-parts'
import type { SchemaProblem } from '@waymark/contracts/validator'
import type {
  ClientMessage,
  JsonObject,
  MessageEventParts,
  MessagePersonChange,
  MessageSummary,
} from '../client-message/client-message.ts'
import {
  fittingTraits,
  idIn,
  isGiven,
  isObject,
  objectIn,
  sentAtIn,
  structural,
  structuralProblem,
  textIn,
  usableText,
  withoutContent,
} from '../client-message/message-parts.ts'
import { pageParametersOf, parsePageUrl } from '../enrichment/page-parameters.ts'
import { checkTraits } from '../identity/check-traits.ts'
import type { SentAt } from '../ingestion/accept-event.ts'
import { eventKeyOf } from '../ingestion/ingest-record.ts'
import { isDeeperThan, memberStart } from '../json/client-json.ts'

/** The calls of Segment's protocol. */
export const segmentCalls = ['track', 'page', 'screen', 'identify', 'group', 'alias'] as const
export type SegmentCall = (typeof segmentCalls)[number]

/** What a request says about its messages. */
type SegmentRequest = {
  /** The call of the path; undefined for a batch, whose messages have a `type`. */
  call: SegmentCall | undefined
  sentAt: unknown
  /** The context of the batch. That of a message wins. */
  context: unknown
  /** Whether the messages are of the past. Then a time that cannot be read is a problem. */
  isHistory?: boolean
  /** False when the whole request is smaller than one message may be. */
  mayExceedSize: boolean
  settings: Pick<ProjectSettings, 'deniedTraits' | 'identifyEvents'>
}

/** Reads one message of Segment's protocol, of any type. A message that is not valid has only `problems`. */
export const readSegmentMessage = (raw: unknown, request: SegmentRequest): ClientMessage => {
  const message: JsonObject = isObject(raw) ? raw : {}
  const problem = structuralProblem(raw, request.mayExceedSize)
  const call = request.call ?? message.type
  const summary = () => summarize(raw, call, problem !== undefined, request.settings)
  const nothing = { personChange: undefined, event: undefined, sentAt: null, summary }
  if (problem) return { ...nothing, problems: [problem] }
  if (!isCall(call))
    return { ...nothing, problems: [structural('type', `must be one of ${segmentCalls.join(', ')}`)] }
  const ofTime = request.isHistory ? timeProblem(message) : undefined
  if (ofTime) return { ...nothing, problems: [ofTime] }
  const read = readers[call](partsOf(message, request), request.settings)
  return { ...nothing, ...sentAtOf(message, request), ...read }
}

/** What is quarantined of a message whose event is refused. The field names are those of Segment. */
export const segmentProblem = ({
  field,
  message,
}: Pick<ValidationItem, 'field' | 'message'>): ValidationItem =>
  structural(SEGMENT_FIELDS[field] ?? field, message)

const SEGMENT_FIELDS: Readonly<Record<string, string>> = {
  eventName: 'event',
  eventId: 'messageId',
  visitorId: 'anonymousId',
  clientTimestamp: 'timestamp',
  sessionId: 'context.sessionId',
}

const isCall = (value: unknown): value is SegmentCall => segmentCalls.some((call) => call === value)

/** The parts that all calls share. */
type Parts = {
  message: JsonObject
  context: JsonObject
  envelope: MessageEventParts['event']
  visitorId: unknown
  userId: unknown
  userHash: string | null
  /** When the message happened, if it says so. */
  time: Pick<MessagePersonChange, 'happenedAt'>
}

const partsOf = (message: JsonObject, request: SegmentRequest): Parts => {
  const context = mergeMembers(objectIn(request.context), objectIn(message.context))
  const visitorId = idIn(message, 'anonymousId')
  const userId = idIn(message, 'userId')
  const clientTimestamp = timeIn(message)
  const eventId = messageIdIn(message)
  const sessionId = idIn(context, 'sessionId')
  return {
    message,
    context,
    visitorId,
    userId,
    userHash: textIn(context.userHash),
    time: clientTimestamp === undefined ? {} : { happenedAt: clientTimestamp },
    envelope: {
      ...(eventId !== undefined && { eventId }),
      ...(visitorId !== undefined && { visitorId }),
      ...(userId !== undefined && { userId }),
      ...(sessionId !== undefined && { sessionId }),
      ...(clientTimestamp !== undefined && { clientTimestamp }),
    },
  }
}

/**
 * The event id of a message. An id of a shape that event ids cannot have becomes a hash, which is the same for a repeat.
 * The prefix keeps the hash apart from those of ids that Waymark makes itself.
 */
const messageIdIn = (message: JsonObject): unknown => {
  const id = idIn(message, 'messageId')
  if (typeof id !== 'string') return id
  const usable = trackedEvent.fits({ eventName: 'any', eventId: id })
  return usable ? id : eventKeyOf(`segment:${id}`)
}

const TIME_FIELDS = ['timestamp', 'originalTimestamp']

/** The time of a message as RFC 3339, else what it sent as text. Undefined without one. */
const timeIn = (message: JsonObject): string | undefined => {
  const sent = TIME_FIELDS.map((field) => message[field])
  for (const value of sent) {
    const time = rfc3339OfClientTime(value)
    if (time !== undefined && time.length <= MAX_TIME_LENGTH) return time
  }
  const unread = sent.find((value) => textIn(value) !== null || typeof value === 'number')
  return unread === undefined ? undefined : `${unread}`.slice(0, MAX_TIME_LENGTH)
}
// Times are stored with every event.
const MAX_TIME_LENGTH = 64

/** Why the time of a message of the past cannot be used. Without one, a message counts as received now. */
const timeProblem = (message: JsonObject): ValidationItem | undefined => {
  const given = TIME_FIELDS.filter((field) => isGiven(message[field]))
  const [field] = given
  if (field === undefined || given.some((name) => rfc3339OfClientTime(message[name]) !== undefined))
    return undefined
  return structural(
    field,
    `must be ${CLIENT_TIME_WORDS}; got ${memberStart(message, field, MAX_TIME_LENGTH)}`,
  )
}

/** The send time of a message, else of its batch. One that cannot be used is a warning. */
const sentAtOf = (message: JsonObject, request: SegmentRequest): SentAt => {
  const own = sentAtIn(message.sentAt)
  if (own.sentAt !== null) return own
  const ofBatch = sentAtIn(request.sentAt)
  return { ...ofBatch, ...(own.sentAtProblem && { sentAtProblem: own.sentAtProblem }) }
}

type Read = Pick<ClientMessage, 'personChange' | 'event' | 'problems'>
type Settings = SegmentRequest['settings']

const refused = (...problems: ValidationItem[]): Read => ({
  personChange: undefined,
  event: undefined,
  problems,
})

const eventOf = (
  { envelope, context }: Parts,
  eventName: unknown,
  properties: JsonObject | undefined,
): MessageEventParts => ({
  event: { ...envelope, eventName, ...(properties && { properties }) },
  contextProperties: contextPropertiesOf(context),
  device: {
    ip: context.ip === NO_ADDRESS ? null : textIn(context.ip),
    userAgent: textIn(context.userAgent),
  },
})

/** How clients ask for the address not to be stored. */
const NO_ADDRESS = '0.0.0.0'

const PAGE_FIELDS = ['url', 'path', 'referrer', 'title']
const CAMPAIGN_FIELDS = {
  name: 'campaign',
  source: 'source',
  medium: 'medium',
  term: 'term',
  content: 'content',
}

const contextPropertiesOf = (context: JsonObject): JsonObject => {
  const found: JsonObject = {}
  const add = (name: string, value: unknown): void => {
    const text = textIn(value)
    if (text !== null) found[name] = text
  }
  const page = objectIn(context.page)
  for (const name of PAGE_FIELDS) add(name, page[name])
  const campaign = objectIn(context.campaign)
  const inAddress = pageParametersOf(parsePageUrl(textIn(page.url)))
  // What the address of the page says itself counts more.
  for (const [name, utm] of Object.entries(CAMPAIGN_FIELDS))
    if (!inAddress.has(`utm_${utm}`)) add(`utm_${utm}`, campaign[name])
  add('locale', context.locale)
  return found
}

const NO_PERSON = structural('userId', 'is missing, and so is anonymousId: send at least one of them')

const readTrack = (parts: Parts): Read => {
  const { event, properties } = parts.message
  if (isGiven(properties) && !isObject(properties))
    return refused(structural('properties', 'must be an object'))
  return { personChange: undefined, event: eventOf(parts, event, objectOrNone(properties)), problems: [] }
}

const objectOrNone = (value: unknown): JsonObject | undefined => (isObject(value) ? value : undefined)

const readView =
  (eventName: string) =>
  (parts: Parts): Read => {
    const { name, category, properties } = parts.message
    if (isGiven(properties) && !isObject(properties))
      return refused(structural('properties', 'must be an object'))
    const named = { ...(textIn(name) && { name }), ...(textIn(category) && { category }) }
    const all = mergeMembers(named, objectIn(properties))
    return { personChange: undefined, event: eventOf(parts, eventName, all), problems: [] }
  }

/** @returns a problem when an id cannot be one of a person */
const personChangeOf = (
  ids: { visitorId?: unknown; userId?: unknown },
  { links, ...change }: Omit<MessagePersonChange, 'visitorId' | 'userId'>,
): MessagePersonChange | ValidationItem => {
  const body = { ...ids, traits: {} }
  const problem = links ? identifyRequest.check(body) : profileRequest.check(body)
  if (problem) return segmentProblem(inWords(problem))
  const { visitorId = null, userId = null } = ids as { visitorId?: string; userId?: string }
  return { visitorId, userId, links, ...change }
}

const inWords = ({ field, rule, message }: SchemaProblem): Pick<ValidationItem, 'field' | 'message'> => ({
  field,
  message: rule === PLACEHOLDER_KEYWORD ? 'looks like a bug in the client' : message,
})

const isRefusal = (change: MessagePersonChange | ValidationItem): change is ValidationItem => 'rule' in change

const readIdentify = (parts: Parts, settings: Settings): Read => {
  const { visitorId, userId, userHash, time, message, context } = parts
  if (visitorId === undefined && userId === undefined) return refused(NO_PERSON)
  if (isGiven(message.traits) && !isObject(message.traits))
    return refused(structural('traits', 'must be an object'))
  // Browser and mobile SDKs of RudderStack send them in the context.
  const sent = withIntegersAsText(objectIn(message.traits ?? context.traits))
  const { traits, problems } = fittingTraits(sent, MAX_TRAITS_DEPTH)
  const links = visitorId !== undefined && userId !== undefined
  const change = personChangeOf(idsOf(parts), { links, traits, userHash, ...time })
  if (isRefusal(change)) return refused(change)
  const event = settings.identifyEvents
    ? eventOf(parts, 'identify', { traits: checkTraits(sent, settings).traits })
    : undefined
  return { personChange: change, event, problems }
}

const idsOf = ({ visitorId, userId }: Pick<Parts, 'visitorId' | 'userId'>) => ({
  ...(visitorId !== undefined && { visitorId }),
  ...(userId !== undefined && { userId }),
})

const readAlias = (parts: Parts): Read => {
  const { userId, userHash, time, message } = parts
  const visitorId = idIn(message, 'previousId')
  if (visitorId === undefined) return refused(structural('previousId', 'is missing'))
  if (userId === undefined) return refused(structural('userId', 'is missing'))
  if (visitorId === userId) return refused(structural('previousId', 'is the same as userId'))
  const change = personChangeOf({ visitorId, userId }, { links: true, traits: {}, userHash, ...time })
  if (!isRefusal(change)) return { personChange: change, event: undefined, problems: [] }
  return refused({ ...change, field: change.field === 'anonymousId' ? 'previousId' : change.field })
}

const GROUP_TRAIT = 'groups.'

const readGroup = (parts: Parts, settings: Settings): Read => {
  const { visitorId, userId, userHash, time, message } = parts
  if (visitorId === undefined && userId === undefined) return refused(NO_PERSON)
  const groupId = idIn(message, 'groupId')
  if (typeof groupId !== 'string' || !isGroupId(groupId))
    return refused(structural('groupId', `must be 1 to ${MAX_ID_LENGTH} printable characters`))
  if (isGiven(message.traits) && !isObject(message.traits))
    return refused(structural('traits', 'must be an object'))
  const ofGroup = checkTraits(withIntegersAsText(objectIn(message.traits)), settings).traits
  const name = `${GROUP_TRAIT}${groupId}`
  // The trait of the person is level 2, so what the group's traits hold must be plain values.
  const flat = Object.fromEntries(Object.entries(ofGroup).filter(([, value]) => !isDeeperThan(value, 0)))
  const { traits, problems } = fittingTraits({ [name]: flat }, MAX_TRAITS_DEPTH)
  if (
    checkTraits({ [name]: flat }, settings).droppedKeys.length > 0 &&
    !settings.deniedTraits?.includes(name)
  )
    problems.push(
      structural('groupId', 'is too long for a trait; the person gets none, and the event has it'),
    )
  const change = personChangeOf(idsOf(parts), { links: false, traits, userHash, ...time })
  if (isRefusal(change)) return refused(change)
  return { personChange: change, event: eventOf(parts, 'group', { groupId, traits: ofGroup }), problems }
}

const isGroupId = (groupId: string): boolean => profileRequest.fits({ userId: groupId, traits: {} })

const readers: Record<SegmentCall, (parts: Parts, settings: Settings) => Read> = {
  track: readTrack,
  page: readView('page_view'),
  screen: readView('screen_view'),
  identify: readIdentify,
  group: readGroup,
  alias: readAlias,
}

const EVENT_NAMES: Readonly<Record<string, string>> = { page: 'page_view', screen: 'screen_view' }
const MAX_EVENT_NAME_LENGTH = 200
/** What is quarantined of a message. The context is not, since it holds the address of the person. */
const CONTENT_FIELDS = [
  'type',
  'event',
  'name',
  'category',
  'groupId',
  'previousId',
  'timestamp',
  'properties',
]

const summarize = (raw: unknown, call: unknown, isMalformed: boolean, settings: Settings): MessageSummary => {
  const message = objectIn(raw)
  const kind = isCall(call) ? (EVENT_NAMES[call] ?? call) : 'message'
  const sentName = call === 'track' ? textIn(message.event) : null
  const ids = { eventId: messageIdIn(message), visitorId: idIn(message, 'anonymousId') }
  return {
    eventId: usableText(ids.eventId),
    eventName: (sentName ?? kind).slice(0, MAX_EVENT_NAME_LENGTH).toWellFormed(),
    visitorId: usableText(ids.visitorId),
    userId: usableText(idIn(message, 'userId')),
    content: isMalformed ? withoutContent(raw) : contentOf(message, settings),
  }
}

const contentOf = (message: JsonObject, settings: Settings): JsonObject => {
  const content: JsonObject = {}
  for (const name of CONTENT_FIELDS) if (isGiven(message[name])) content[name] = message[name]
  if (isObject(message.traits)) content.traits = checkTraits(message.traits, settings).traits
  return { message: content }
}
