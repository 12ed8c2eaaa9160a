import type { EnrichedEvent } from '@waymark/contracts'
import { eventKeyOf } from '@waymark/domain'
import type { AnalyticsProfile } from './store.ts'

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

/** The columns of an event in the store. */
const eventRow = (event: EnrichedEvent) => ({
  project_id: event.projectId,
  event_key: eventKeyOf(event.eventId),
  time: event.timestamp,
  event_name: event.eventName,
  profile_id: event.profileId,
  visitor_id: event.visitorId,
  user_id: event.userId,
  session_id: event.sessionId,
  bot: event.context.bot,
  browser: event.context.browser,
  os: event.context.os,
  device: event.context.device,
  country: event.context.country,
  city: event.context.city,
  path: event.context.path,
  referrer_host: event.context.referrerHost,
  utm_source: event.context.utm.source,
  utm_medium: event.context.utm.medium,
  utm_campaign: event.context.utm.campaign,
  utm_term: event.context.utm.term,
  utm_content: event.context.utm.content,
  link: event.shortLinkId,
  link_campaign: event.context.shortLink?.campaign ?? null,
  warnings: event.warnings.length,
  conversions: event.conversions.map(({ selectorId, amount, currency }) => ({
    selector_id: selectorId,
    amount,
    currency,
  })),
  properties: event.properties,
})

export type EventRow = ReturnType<typeof eventRow>

/** The rows of a batch. Of repeated events, the first counts. */
export const eventRows = (events: readonly EnrichedEvent[]): EventRow[] => {
  const rows = new Map<string, EventRow>()
  for (const event of events) {
    const row = eventRow(event)
    const key = `${row.project_id}/${row.event_key}/${row.time}`
    if (!rows.has(key)) rows.set(key, row)
  }
  return [...rows.values()]
}

/** The columns of a profile in the store. */
export const profileRow = ({ projectId, profileId, mergedInto, traits, version }: AnalyticsProfile) => ({
  project_id: projectId,
  profile_id: profileId,
  merged_into: mergedInto,
  traits,
  version,
})

export type ProfileRow = ReturnType<typeof profileRow>
