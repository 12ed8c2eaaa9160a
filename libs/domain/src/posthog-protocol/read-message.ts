import { CLIENT_TIME_WORDS, rfc3339OfClientTime } from '@waymark/contracts/client-time'
import { identifyRequest, MAX_TRAITS_DEPTH, profileRequest } from '@waymark/contracts/http/identify'
import { trackedEvent } from '@waymark/contracts/http/track-request'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { mergeMembers, withIntegersAsText } from '@waymark/contracts/number-source'
import { PLACEHOLDER_KEYWORD } from '@waymark/contracts/placeholder-id'
import type { ProjectSettings } from '@waymark/contracts/project-settings'
import type {
  ClientMessage,
  JsonObject,
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
import { checkTraits } from '../identity/check-traits.ts'
import { eventKeyOf } from '../ingestion/ingest-record.ts'
import { memberStart } from '../json/client-json.ts'

type Settings = Pick<ProjectSettings, 'deniedTraits' | 'identifyEvents'>

/** What a request says about its messages. */
type PostHogRequest = {
  /** The `sent_at` of the request. */
  sentAt: unknown
  /** When the request was received, in ms since the epoch. */
  receivedAt: number
  /** Whether the messages are of the past (`historical_migration`). Then a time that cannot be read is a problem. */
  isHistory: boolean
  /** False when the whole request is smaller than one message may be. */
  mayExceedSize: boolean
  settings: Settings
}

/** Events of PostHog that have a name of their own here. */
const EVENT_NAMES: Readonly<Record<string, string>> = {
  $pageview: 'page_view',
  $screen: 'screen_view',
  $groupidentify: 'group',
  $identify: 'identify',
}
const MERGES: readonly unknown[] = ['$create_alias', '$merge_dangerously']
/** They only change the person. */
const NO_EVENTS: readonly unknown[] = [...MERGES, '$set', '$unset']

/**
 * Reads one message of PostHog's protocol. One with `$set_once` becomes two: the second writes only the traits that the
 * person does not have yet. A message that is not valid has only `problems`.
 * @param index of the message in its request
 */
export const readPostHogMessage = (raw: unknown, index: number, request: PostHogRequest): ClientMessage[] => {
  const problem = structuralProblem(raw, request.mayExceedSize)
  const message = isObject(raw) ? raw : {}
  const properties = objectIn(message.properties)
  const parts = { message, properties, ids: idsOf(message, properties) }
  const summary = () => summarize(raw, parts, problem !== undefined, request.settings)
  const nothing = { personChange: undefined, event: undefined, sentAt: null, summary }
  const refusal = problem ?? shapeProblem(message) ?? (request.isHistory ? timeProblem(message) : undefined)
  if (refusal) return [{ ...nothing, problems: [refusal] }]

  const time = timeIn(message, request.receivedAt)
  const change = changeOf(parts, time === undefined ? {} : { happenedAt: time })
  if (isRefusal(change)) return [{ ...nothing, problems: [change] }]
  const { personChange, problems } = change
  const first: ClientMessage = {
    ...nothing,
    ...sentAtIn(message.sent_at ?? request.sentAt),
    personChange,
    problems,
    event: isEvent(message.event, request.settings) ? eventOf(parts, time, request.settings) : undefined,
  }
  const once = onceOf(parts, firstWinsTime(request.receivedAt, index))
  return once ? [first, { ...nothing, personChange: once.personChange, problems: once.problems }] : [first]
}

/** What is quarantined of a message whose event is refused. The field names are those of PostHog. */
export const postHogProblem = ({
  field,
  message,
}: Pick<ValidationItem, 'field' | 'message'>): ValidationItem =>
  structural(POSTHOG_FIELDS[field] ?? field, message)

const POSTHOG_FIELDS: Readonly<Record<string, string>> = {
  eventName: 'event',
  eventId: 'uuid',
  visitorId: 'distinct_id',
  userId: 'distinct_id',
  clientTimestamp: 'timestamp',
  sessionId: 'properties.$session_id',
}

type Ids = { visitorId?: unknown; userId?: unknown }
type Parts = { message: JsonObject; properties: JsonObject; ids: Ids }

const shapeProblem = (message: JsonObject): ValidationItem | undefined => {
  if (textIn(message.event) === null) return structural('event', 'must be the name of an event')
  if (isGiven(message.properties) && !isObject(message.properties))
    return structural('properties', 'must be an object')
  return undefined
}

const timeProblem = (message: JsonObject): ValidationItem | undefined => {
  const { timestamp } = message
  if (!isGiven(timestamp) || rfc3339OfClientTime(timestamp) !== undefined) return undefined
  const received = memberStart(message, 'timestamp', MAX_TIME_LENGTH)
  return structural('timestamp', `must be ${CLIENT_TIME_WORDS}; got ${received}`)
}
const MAX_TIME_LENGTH = 64

/** `timestamp`, or `offset`: how many ms ago it happened. */
const timeIn = ({ timestamp, offset }: JsonObject, receivedAt: number): string | undefined => {
  if (isGiven(timestamp)) return (rfc3339OfClientTime(timestamp) ?? `${timestamp}`).slice(0, MAX_TIME_LENGTH)
  const time = new Date(typeof offset === 'number' ? receivedAt - offset : Number.NaN)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

/**
 * The ids of a message. The SDKs have only a `distinct_id`: that of a visitor before `identify`, and that of the user
 * after it. Browsers then name the device as well, which is the visitor.
 */
const idsOf = (message: JsonObject, properties: JsonObject): Ids => {
  const distinctId = idIn(message, 'distinct_id') ?? idIn(properties, 'distinct_id')
  if (distinctId === undefined || isIdOfGroup(distinctId, properties)) return {}
  const deviceId = idIn(properties, '$device_id')
  const isAnonymous =
    deviceId === distinctId ||
    (properties.$is_identified ?? properties.$process_person_profile ?? true) === false
  if (isAnonymous && message.event !== '$identify') return { visitorId: distinctId }
  return {
    ...(deviceId !== undefined && deviceId !== distinctId && { visitorId: deviceId }),
    userId: distinctId,
  }
}

/** SDKs of servers send changes of groups under an id that belongs to nobody. */
const isIdOfGroup = (id: unknown, { $group_type: type, $group_key: key }: JsonObject): boolean =>
  isGiven(type) && id === `$${type}_${key}`

const isEvent = (name: unknown, { identifyEvents }: Settings): boolean =>
  !NO_EVENTS.includes(name) && (name !== '$identify' || identifyEvents === true)

const eventOf = (
  { message, properties, ids }: Parts,
  clientTimestamp: string | undefined,
  settings: Settings,
): ClientMessage['event'] => {
  const name = `${message.event}`
  const eventId = eventIdIn(message)
  const sessionId = idIn(properties, '$session_id')
  const own =
    name === '$groupidentify'
      ? groupOf(properties, settings)
      : name === '$identify'
        ? { traits: checkTraits(setIn({ message, properties }), settings).traits }
        : ownProperties(properties)
  return {
    event: {
      eventName: EVENT_NAMES[name] ?? name,
      properties: own,
      ...ids,
      ...(eventId !== undefined && { eventId }),
      ...(sessionId !== undefined && { sessionId }),
      ...(clientTimestamp !== undefined && { clientTimestamp }),
    },
    contextProperties: contextOf(properties),
    device: { ip: textIn(properties.$ip), userAgent: textIn(properties.$raw_user_agent) },
  }
}

const groupOf = ({ $group_type, $group_key, $group_set }: JsonObject, settings: Settings): JsonObject => ({
  groupType: $group_type,
  groupId: $group_key,
  traits: checkTraits(withIntegersAsText(objectIn($group_set)), settings).traits,
})

/** The id of the event. One of a shape that event ids cannot have becomes a hash, which is the same for a repeat. */
const eventIdIn = (message: JsonObject): unknown => {
  const id = idIn(message, 'uuid')
  if (typeof id !== 'string') return id
  return trackedEvent.fits({ eventName: 'any', eventId: id }) ? id : eventKeyOf(`posthog:${id}`)
}

/** Properties of an event that the SDKs add, and that say what happened. Others that begin with `$` describe the SDK. */
const KEPT =
  /^\$(?:feature\/|feature_flag|groups$|event_type$|el_|elements|external_click_url$|exception_|web_vitals_|ai_|survey|prev_pageview_|screen_name$|revenue$)/
/** Of the SDK as well: the API key and the person, who are in their own fields. */
const DROPPED: readonly string[] = ['token', 'distinct_id']

const ownProperties = (properties: JsonObject): JsonObject => {
  const names = Object.keys(properties)
  const dropped = names.filter((name) => DROPPED.includes(name) || (name.startsWith('$') && !KEPT.test(name)))
  if (dropped.length === 0) return properties
  const kept = mergeMembers({}, properties)
  for (const name of dropped) delete kept[name]
  return kept
}

const CONTEXT = { $current_url: 'url', $pathname: 'path', $referrer: 'referrer', $title: 'title' }
/** How the browser SDK says that there is no referrer. */
const NO_REFERRER = '$direct'

const contextOf = (properties: JsonObject): JsonObject => {
  const found: JsonObject = {}
  for (const [name, property] of Object.entries(CONTEXT)) {
    const value = textIn(properties[name])
    if (value !== null && value !== NO_REFERRER) found[property] = value
  }
  return found
}

/** Traits that the person gets. `$unset` removes them. Traits of the SDK, which begin with `$`, are never stored. */
const setIn = ({ message, properties }: Pick<Parts, 'message' | 'properties'>): JsonObject => {
  const unset = [message.$unset, properties.$unset].flatMap((names) => (Array.isArray(names) ? names : []))
  return {
    ...Object.fromEntries(unset.filter((name) => typeof name === 'string').map((name) => [name, null])),
    ...traitsIn(message, properties, '$set'),
  }
}

const traitsIn = (message: JsonObject, properties: JsonObject, field: '$set' | '$set_once'): JsonObject => {
  const all = withIntegersAsText(mergeMembers(objectIn(properties[field]), objectIn(message[field])))
  return Object.fromEntries(Object.entries(all).filter(([name]) => !name.startsWith('$')))
}

type Change = { personChange: MessagePersonChange | undefined; problems: ValidationItem[] }
type Time = Pick<MessagePersonChange, 'happenedAt'>

/** The change of the person in a message, or why it cannot be one. */
const changeOf = (parts: Parts, time: Time): Change | ValidationItem => {
  const { message, properties, ids } = parts
  if (MERGES.includes(message.event)) return mergeOf(parts, time)
  const set = setIn(parts)
  const isIdentify = message.event === '$identify'
  const visitorId = isIdentify ? idIn(properties, '$anon_distinct_id') : undefined
  const links = isIdentify && visitorId !== undefined && visitorId !== ids.userId
  if (!links && Object.keys(set).length === 0) return { personChange: undefined, problems: [] }
  const { traits, problems } = fittingTraits(set, MAX_TRAITS_DEPTH)
  const person = links ? { visitorId, userId: ids.userId } : ids
  const change = personChangeOf(person, { links, traits, userHash: null, ...time })
  return isRefusal(change) ? change : { personChange: change, problems }
}

/** `alias` names the user, and `distinct_id` the visitor who turned out to be that user. */
const mergeOf = ({ message, properties }: Parts, time: Time): Change | ValidationItem => {
  const visitorId = idIn(message, 'distinct_id') ?? idIn(properties, 'distinct_id')
  const userId = idIn(properties, 'alias')
  if (userId === undefined) return structural('properties.alias', 'is missing')
  if (visitorId === userId) return structural('properties.alias', 'is the same as distinct_id')
  const change = personChangeOf({ visitorId, userId }, { links: true, traits: {}, userHash: null, ...time })
  return isRefusal(change) ? change : { personChange: change, problems: [] }
}

const onceOf = ({ message, properties, ids }: Parts, happenedAt: string): Change | undefined => {
  const set = traitsIn(message, properties, '$set_once')
  if (Object.keys(set).length === 0) return undefined
  const { traits, problems } = fittingTraits(set, MAX_TRAITS_DEPTH)
  const change = personChangeOf(ids, { links: false, traits, userHash: null, happenedAt })
  return isRefusal(change)
    ? { personChange: undefined, problems: [change] }
    : { personChange: change, problems }
}

/**
 * A time that makes the first write of a trait win: it is before all real times, and the later a request is received, the
 * earlier it is.
 */
const firstWinsTime = (receivedAt: number, index: number): string =>
  new Date(-receivedAt - index).toISOString()

/** @returns a problem when an id cannot be one of a person */
const personChangeOf = (
  ids: Ids,
  { links, ...change }: Omit<MessagePersonChange, 'visitorId' | 'userId'>,
): MessagePersonChange | ValidationItem => {
  if (ids.visitorId === undefined && ids.userId === undefined) return structural('distinct_id', 'is missing')
  const problem = (links ? identifyRequest : profileRequest).check({ ...ids, traits: {} })
  if (problem) {
    const message = problem.rule === PLACEHOLDER_KEYWORD ? 'looks like a bug in the client' : problem.message
    return postHogProblem({ field: problem.field, message })
  }
  const { visitorId = null, userId = null } = ids as { visitorId?: string; userId?: string }
  return { visitorId, userId, links, ...change }
}

const isRefusal = (change: Change | MessagePersonChange | ValidationItem): change is ValidationItem =>
  'rule' in change

const MAX_EVENT_NAME_LENGTH = 200

const summarize = (raw: unknown, parts: Parts, isMalformed: boolean, settings: Settings): MessageSummary => {
  const { message, ids } = parts
  const name = textIn(message.event) ?? 'message'
  return {
    eventId: usableText(eventIdIn(message)),
    eventName: (EVENT_NAMES[name] ?? name).slice(0, MAX_EVENT_NAME_LENGTH).toWellFormed(),
    visitorId: usableText(ids.visitorId),
    userId: usableText(ids.userId),
    content: isMalformed ? withoutContent(raw) : contentOf(parts, settings),
  }
}

const contentOf = ({ message, properties }: Parts, settings: Settings): JsonObject => ({
  message: {
    ...(isGiven(message.event) && { event: message.event }),
    ...(isGiven(message.timestamp) && { timestamp: message.timestamp }),
    properties: ownProperties(properties),
    $set: checkTraits(setIn({ message, properties }), settings).traits,
  },
})
