import { createHash } from 'node:crypto'
import { minorUnitDigits } from '@waymark/contracts/currency'
import { idTextIn, isObject, type JsonObject, objectsIn, textIn, Unsupported } from './imported.ts'

/** A message of Segment's protocol, which history is sent in. */
export type ImportedMessage = {
  type: 'track' | 'page' | 'alias'
  messageId: string
  timestamp: string
  event?: string
  userId?: string
  anonymousId?: string
  previousId?: string
  properties?: JsonObject
  context?: JsonObject
}

/** An id that is the same whenever the same event is imported. */
const idOf = (source: string, parts: readonly unknown[]): string =>
  `${source}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)}`

/** @param ms since the epoch */
const timeOf = (ms: number): string => {
  const time = new Date(ms)
  if (!(ms > 0) || Number.isNaN(time.getTime())) throw new Unsupported('it has no time')
  return time.toISOString()
}

const MS_PER_SECOND = 1_000
const US_PER_MS = 1_000
/** Larger numbers are in ms. */
const LAST_SECONDS = 100_000_000_000

const DEVICE_PREFIX = '$device:'
const MIXPANEL_MERGES: Record<string, [previous: string, user: string]> = {
  $identify: ['$anon_id', '$identified_id'],
  $create_alias: ['distinct_id', 'alias'],
}

/** Reads an event of Mixpanel's raw export. @throws Unsupported */
export const readMixpanel = (event: JsonObject): ImportedMessage => {
  const name = textIn(event.event)
  const properties = isObject(event.properties) ? event.properties : {}
  if (name === undefined) throw new Unsupported('it has no event')
  const { time, distinct_id, $insert_id } = properties
  const seconds = Number(time)
  const envelope = {
    messageId: idOf('mixpanel', [name, distinct_id, time, $insert_id ?? properties]),
    timestamp: timeOf(seconds > LAST_SECONDS ? seconds : seconds * MS_PER_SECOND),
  }
  const merge = MIXPANEL_MERGES[name]
  if (merge) {
    const [previousId, userId] = merge.map((field) => idTextIn(properties[field]))
    if (!previousId || !userId) throw new Unsupported(`it lacks ${merge.join(' or ')}`)
    return { type: 'alias', ...envelope, previousId: withoutPrefix(previousId), userId }
  }
  return {
    ...(name === '$mp_web_page_view' ? { type: 'page' } : { type: 'track', event: name }),
    ...envelope,
    ...mixpanelPerson(properties),
    properties: Object.fromEntries(
      Object.entries(properties).filter(([field]) => !MIXPANEL_FIELDS.test(field)),
    ),
    context: { page: pageOf(properties.$current_url ?? properties.current_url, properties.$referrer) },
  }
}

/** Fields of an event that Mixpanel and its SDKs add. */
const MIXPANEL_FIELDS = /^(?:\$|mp_|distinct_id$|time$|token$)/

const withoutPrefix = (id: string): string =>
  id.startsWith(DEVICE_PREFIX) ? id.slice(DEVICE_PREFIX.length) : id

const mixpanelPerson = ({ distinct_id, $user_id, $device_id }: JsonObject) => {
  const [distinct, device] = [idTextIn(distinct_id), idTextIn($device_id)]
  const isDevice = distinct?.startsWith(DEVICE_PREFIX) || (distinct !== undefined && distinct === device)
  const userId = idTextIn($user_id) ?? (isDevice ? undefined : distinct)
  const anonymousId = device ?? (isDevice && distinct ? withoutPrefix(distinct) : undefined)
  if (userId === undefined && anonymousId === undefined) throw new Unsupported('it has no distinct_id')
  return { ...(userId !== undefined && { userId }), ...(anonymousId !== undefined && { anonymousId }) }
}

const pageOf = (url: unknown, referrer: unknown, title?: unknown): JsonObject => ({
  ...(textIn(url) && { url }),
  ...(textIn(referrer) && referrer !== '$direct' && { referrer }),
  ...(textIn(title) && { title }),
})

/** Parameters that become other fields. */
const GA4_FIELDS = ['page_location', 'page_referrer', 'page_title', 'ga_session_id']

/** Reads a row of GA4's export to BigQuery, as newline-delimited JSON. @throws Unsupported */
export const readGa4 = (row: JsonObject): ImportedMessage => {
  const name = textIn(row.event_name)
  if (name === undefined) throw new Unsupported('it has no event_name')
  const anonymousId = idTextIn(row.user_pseudo_id)
  const userId = idTextIn(row.user_id)
  if (anonymousId === undefined && userId === undefined) throw new Unsupported('it has no user_pseudo_id')
  const parameters = parametersOf(row.event_params)
  const { page_location, page_referrer, page_title, ga_session_id } = parameters
  const own = Object.fromEntries(Object.entries(parameters).filter(([field]) => !GA4_FIELDS.includes(field)))
  const { event_timestamp, event_bundle_sequence_id, batch_event_index } = row
  return {
    ...(name === 'page_view' ? { type: 'page' } : { type: 'track', event: name }),
    messageId: idOf('ga4', [
      name,
      event_timestamp,
      anonymousId,
      userId,
      event_bundle_sequence_id,
      batch_event_index,
      parameters,
    ]),
    timestamp: timeOf(Number(event_timestamp) / US_PER_MS),
    ...(userId !== undefined && { userId }),
    ...(anonymousId !== undefined && { anonymousId }),
    properties: { ...own, ...amountOf(own), ...itemsOf(row.items) },
    context: {
      page: pageOf(page_location, page_referrer, page_title),
      ...(ga_session_id !== undefined && { sessionId: `${anonymousId ?? userId}.${ga_session_id}` }),
      campaign: campaignOf(row.collected_traffic_source),
    },
  }
}

const parametersOf = (list: unknown): JsonObject =>
  Object.fromEntries(
    objectsIn(list).flatMap(({ key, value }) => {
      const read = isObject(value) ? parameterValueOf(value) : undefined
      return textIn(key) && read !== undefined ? [[`${key}`, read]] : []
    }),
  )

/** BigQuery writes integers as text. Those that a number cannot hold stay text. */
const parameterValueOf = ({ string_value, int_value, float_value, double_value }: JsonObject): unknown => {
  if (string_value !== undefined && string_value !== null) return string_value
  const number = Number(int_value ?? double_value ?? float_value ?? Number.NaN)
  if (Number.isNaN(number)) return undefined
  return int_value !== undefined && !Number.isSafeInteger(number) ? `${int_value}` : number
}

/** The amount in minor units, as conversions read it: GA4 counts in units of the currency. */
const amountOf = ({ value, currency }: JsonObject): JsonObject => {
  if (typeof value !== 'number' || typeof currency !== 'string' || !/^[A-Z]{3}$/i.test(currency)) return {}
  return { amount: Math.round(value * 10 ** minorUnitDigits(currency)) }
}

const itemsOf = (items: unknown): JsonObject => {
  const all = objectsIn(items).map((item) =>
    Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null && value !== '(not set)')),
  )
  return all.length > 0 ? { items: all } : {}
}

const campaignOf = (source: unknown): JsonObject => {
  const { manual_source, manual_medium, manual_campaign_name, manual_term, manual_content } = isObject(source)
    ? source
    : {}
  return {
    ...(textIn(manual_source) && { source: manual_source }),
    ...(textIn(manual_medium) && { medium: manual_medium }),
    ...(textIn(manual_campaign_name) && { name: manual_campaign_name }),
    ...(textIn(manual_term) && { term: manual_term }),
    ...(textIn(manual_content) && { content: manual_content }),
  }
}
