import type { EventColumn, EventFilter, Ordering, PropertyRef } from '@waymark/domain/analytics'

const OPERATORS: Record<Ordering, string> = { gt: '>', gte: '>=', lt: '<', lte: '<=' }

const inContext = (path: string): string => `e.context #> '{${path}}'`

/** The columns of the analytics store, as JSON expressions over the stored event. */
const COLUMNS: Record<EventColumn, string> = {
  eventName: 'to_jsonb(e.event_name)',
  browser: inContext('browser'),
  os: inContext('os'),
  device: inContext('device'),
  country: inContext('country'),
  city: inContext('city'),
  path: inContext('path'),
  referrerHost: inContext('referrerHost'),
  bot: inContext('bot'),
  utmSource: inContext('utm,source'),
  utmMedium: inContext('utm,medium'),
  utmCampaign: inContext('utm,campaign'),
  utmTerm: inContext('utm,term'),
  utmContent: inContext('utm,content'),
  link: 'to_jsonb(e.short_link_id)',
  campaign: `coalesce(nullif(${inContext('shortLink,campaign')}, 'null'), ${inContext('utm,campaign')})`,
}

// The event's profile, or the one that it was merged into.
const PERSON = `
  LEFT JOIN ingest.profiles AS own ON own.id = e.profile_id
  LEFT JOIN ingest.profiles AS person ON person.id = coalesce(own.merged_into, own.id)`

type Matching = { from?: Date; to?: Date; filters: readonly EventFilter[] }

/**
 * The SQL condition for times and filters of stored events `e`, with the joins that it needs; undefined without any. It
 * has the same meaning as in the analytics store.
 */
export const createEventConditions = (
  { from, to, filters }: Matching,
  parameter: (value: unknown) => string,
): { joins: string; condition: string } | undefined => {
  const read = (ref: PropertyRef): string => {
    if (ref.source === 'column') return `nullif(${COLUMNS[ref.column]}, 'null')`
    const column = ref.source === 'traits' ? 'person.traits' : 'e.properties'
    // Unlike a path of `#>`, a text key is not an index of a list.
    return `nullif(${[column, ...ref.path.map((key) => `${parameter(key)}::text`)].join(' -> ')}, 'null')`
  }
  const test = (filter: EventFilter): string => {
    const value = read(filter.property)
    const text = `(CASE WHEN jsonb_typeof(${value}) = 'string' THEN ${value} #>> '{}' END)`
    switch (filter.test) {
      case 'exists':
        return `${value} IS NOT NULL`
      case 'in':
        return `${value} = ANY (${parameter(filter.values.map((wanted) => JSON.stringify(wanted)))}::jsonb[])`
      case 'contains':
        return `strpos(${text}, ${parameter(filter.value)}) > 0`
      case 'starts_with':
        return `starts_with(${text}, ${parameter(filter.value)})`
      default:
        return typeof filter.value === 'number'
          ? `(CASE WHEN jsonb_typeof(${value}) = 'number' THEN (${value} #>> '{}')::numeric END)
              ${OPERATORS[filter.test]} ${parameter(filter.value)}::numeric`
          : `${text} COLLATE "C" ${OPERATORS[filter.test]} ${parameter(filter.value)}`
    }
  }
  const conditions = [
    ...(from ? [`e."timestamp" >= ${parameter(from)}`] : []),
    ...(to ? [`e."timestamp" < ${parameter(to)}`] : []),
    ...filters.map((filter) => `${filter.negated ? 'NOT ' : ''}coalesce(${test(filter)}, false)`),
  ]
  if (conditions.length === 0) return undefined
  const needsPerson = filters.some(({ property }) => property.source === 'traits')
  return { joins: needsPerson ? PERSON : '', condition: conditions.join(' AND ') }
}
