import type { EventView } from '@waymark/contracts/http/events'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { clickParameters } from '@waymark/domain/enrichment'
import { eventKeyOf } from '@waymark/domain/ingestion'
import type { StoredEvent, StoredProfile } from './store.ts'

/** JSON integers beyond this are read as text by ClickHouse. */
const MAX_INTEGER = 2 ** 63
const MAY_HAVE_HUGE_INTEGER = /\d{19}/

const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown }

/** The JSON of properties or traits, with huge integers in exponential notation. */
export const jsonOf = (members: Readonly<Record<string, unknown>>): string => {
  const text = JSON.stringify(members)
  if (!MAY_HAVE_HUGE_INTEGER.test(text)) return text
  return JSON.stringify(members, (_, value) =>
    Number.isInteger(value) && Math.abs(value) >= MAX_INTEGER ? rawJSON(value.toExponential()) : value,
  )
}

/** The origin of an event in columns of the store: what queries read, and texts that few events have on their own. */
const CONTEXT_COLUMNS = {
  bot: 'bot',
  browser: 'browser',
  browserVersion: 'browser_version',
  os: 'os',
  osVersion: 'os_version',
  device: 'device',
  country: 'country',
  city: 'city',
  path: 'path',
  referrer: 'referrer',
  referrerHost: 'referrer_host',
} as const
const UTM_COLUMNS = {
  source: 'utm_source',
  medium: 'utm_medium',
  campaign: 'utm_campaign',
  term: 'utm_term',
  content: 'utm_content',
} as const

type Context = EventView['context']
type ContextColumn = keyof typeof CONTEXT_COLUMNS

type OtherContext = Omit<Context, ContextColumn | 'utm'>

/** What the API shows of an event and no query reads. Members without a value are left out, because they are most. */
type EventDetails = Partial<Pick<EventView, 'shortLinkCode' | 'clickIds' | 'warnings'>> & {
  /** Absent when it is the key. */
  eventId?: string
  /** As it was sent, or in ms after the receipt, which is shorter and gives the same text. */
  clientTimestamp?: string | number
  context?: Partial<OtherContext>
}

/** The part of an event that has no column of its own, as JSON, which leaves out what is undefined. */
const detailsOf = (event: EnrichedEvent, eventKey: string): string => {
  const { ip, url, clickIds, shortLink } = event.context
  const context = {
    ip: ip ?? undefined,
    url: url ?? undefined,
    clickIds: isEmpty(clickIds) ? undefined : clickIds,
    shortLink,
  } satisfies Record<keyof OtherContext, unknown>
  return JSON.stringify({
    eventId: event.eventId === eventKey ? undefined : event.eventId,
    clientTimestamp: event.clientTimestamp === null ? undefined : shortTime(event.clientTimestamp, event),
    shortLinkCode: event.shortLinkCode ?? undefined,
    clickIds: isEmpty(event.clickIds) ? undefined : event.clickIds,
    warnings: event.warnings.length === 0 ? undefined : event.warnings,
    context,
  } satisfies Record<keyof EventDetails, unknown>)
}

const shortTime = (time: string, { receivedAt }: Pick<EventView, 'receivedAt'>): string | number => {
  const ms = Date.parse(time)
  return isoOf(ms) === time ? ms - Date.parse(receivedAt) : time
}

const fullTime = (time: string | number, receivedMs: StoredRow['received_ms']): string =>
  typeof time === 'string' ? time : isoOf(Number(receivedMs) + time)

const isEmpty = (members: object): boolean => Object.keys(members).length === 0

/** The parameter by which an advertisement brought the visit; the ids themselves are in the details. */
export const clickOf = ({ context }: Pick<EnrichedEvent, 'context'>): string | null =>
  clickParameters.find((name) => Object.hasOwn(context.clickIds, name)) ?? null

/** The columns of an event in the store. */
const eventRow = (event: EnrichedEvent, eventKey: string) => ({
  project_id: event.projectId,
  event_key: eventKey,
  time: event.timestamp,
  event_name: event.eventName,
  profile_id: event.profileId,
  visitor_id: event.visitorId,
  user_id: event.userId,
  session_id: event.sessionId,
  bot: event.context.bot,
  browser: event.context.browser,
  browser_version: event.context.browserVersion,
  os: event.context.os,
  os_version: event.context.osVersion,
  device: event.context.device,
  country: event.context.country,
  city: event.context.city,
  path: event.context.path,
  referrer: event.context.referrer,
  referrer_host: event.context.referrerHost,
  utm_source: event.context.utm.source,
  utm_medium: event.context.utm.medium,
  utm_campaign: event.context.utm.campaign,
  utm_term: event.context.utm.term,
  utm_content: event.context.utm.content,
  click_id: clickOf(event),
  link: event.shortLinkId,
  link_campaign: event.context.shortLink?.campaign ?? null,
  warnings: event.warnings.length,
  conversions: event.conversions.map(({ selectorId, amount, currency }) => ({
    selector_id: selectorId,
    amount,
    currency,
  })),
  properties: event.properties,
  received_at: event.receivedAt,
  details: detailsOf(event, eventKey),
})

export type EventRow = ReturnType<typeof eventRow>

/** The rows of a batch. Of repeated events, the first counts. */
export const eventRows = (events: readonly EnrichedEvent[]): EventRow[] => {
  const rows = new Map<string, EventRow>()
  for (const event of events) {
    const eventKey = eventKeyOf(event.eventId)
    const key = `${event.projectId}/${eventKey}/${event.timestamp}`
    if (!rows.has(key)) rows.set(key, eventRow(event, eventKey))
  }
  return [...rows.values()]
}

/** The columns that make an event as the API shows it, as the stores read them. */
export const STORED_COLUMNS = [
  'event_name',
  'visitor_id',
  'user_id',
  'session_id',
  'link',
  ...Object.values(CONTEXT_COLUMNS),
  ...Object.values(UTM_COLUMNS),
] as const

type StoredColumn = Exclude<(typeof STORED_COLUMNS)[number], 'event_name' | 'bot'>

/** A complete event as the stores read it; times in ms. */
export type StoredRow = Readonly<Record<StoredColumn, string | null>> & {
  event_key: string
  event_name: string
  profile_id: string | null
  received_ms: bigint | number | string
  time_ms: bigint | number | string
  bot: boolean
  /** JSON. */
  properties: string
  details: string
}

/** An event as the API shows it. */
export const storedEventOf = (row: StoredRow): StoredEvent => {
  const details = JSON.parse(row.details) as EventDetails
  return {
    eventKey: row.event_key,
    eventId: details.eventId ?? row.event_key,
    eventName: row.event_name,
    visitorId: row.visitor_id,
    userId: row.user_id,
    sessionId: row.session_id,
    properties: JSON.parse(row.properties),
    clientTimestamp:
      details.clientTimestamp === undefined ? null : fullTime(details.clientTimestamp, row.received_ms),
    receivedAt: isoOf(row.received_ms),
    timestamp: isoOf(row.time_ms),
    profileId: row.profile_id,
    shortLinkId: row.link,
    shortLinkCode: details.shortLinkCode ?? null,
    clickIds: details.clickIds ?? {},
    warnings: details.warnings ?? [],
    context: {
      ...NO_CONTEXT,
      ...details.context,
      ...valuesOf(row, CONTEXT_COLUMNS),
      bot: row.bot,
      utm: valuesOf(row, UTM_COLUMNS),
    },
  }
}

/** The part of a stored event that the API shows. */
export const viewOf = ({ eventKey: _, ...view }: StoredEvent): EventView => view

const NO_CONTEXT = { ip: null, url: null, clickIds: {} } satisfies Partial<Context>

/** The ISO text of a time, or of none. */
const isoOf = (ms: StoredRow['time_ms']): string => {
  const time = new Date(Number(ms))
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
}

const valuesOf = <Name extends string>(
  row: StoredRow,
  columns: Readonly<Record<Name, StoredColumn | 'bot'>>,
): Record<Name, string | null> =>
  Object.fromEntries(
    Object.entries<StoredColumn | 'bot'>(columns).map(([name, column]) => [name, row[column]]),
  ) as Record<Name, string | null>

/** The columns of a profile in the store. */
export const profileRow = ({ projectId, profileId, mergedInto, traits, version }: StoredProfile) => ({
  project_id: projectId,
  profile_id: profileId,
  merged_into: mergedInto,
  traits,
  version,
})

export type ProfileRow = ReturnType<typeof profileRow>
