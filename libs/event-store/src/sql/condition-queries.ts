import type { EventColumn, EventFilter, Ordering, PropertyRef, ScalarValue } from '@waymark/domain/analytics'
import type { Breakdown } from '../store.ts'
import type { Dialect, JsonMember, Parameters } from './dialect.ts'

const COLUMNS: Record<EventColumn, string> = {
  eventName: 'e.event_name',
  browser: 'e.browser',
  os: 'e.os',
  device: 'e.device',
  country: 'e.country',
  city: 'e.city',
  path: 'e.path',
  referrerHost: 'e.referrer_host',
  bot: 'e.bot',
  utmSource: 'e.utm_source',
  utmMedium: 'e.utm_medium',
  utmCampaign: 'e.utm_campaign',
  utmTerm: 'e.utm_term',
  utmContent: 'e.utm_content',
  link: 'e.link',
  campaign: 'coalesce(e.link_campaign, e.utm_campaign)',
}

const JSON_COLUMNS = { properties: 'e.properties', traits: 'person.traits' }

const OPERATORS: Record<Ordering, string> = { gt: '>', gte: '>=', lt: '<', lte: '<=' }

/** Whether a query needs the traits of people, which are in a separate table. */
export const needsTraits = (refs: readonly (Breakdown | undefined)[]): boolean =>
  refs.some((ref) => ref?.source === 'traits')

/** Reads properties and tests filters in one statement. Values of the request are bound, never part of the text. */
export const createConditions = (dialect: Dialect, parameters: Parameters) => {
  const read = (ref: PropertyRef): JsonMember => {
    if (ref.source !== 'column') return dialect.json(JSON_COLUMNS[ref.source], ref.path, parameters)
    const column = COLUMNS[ref.column]
    const isBoolean = ref.column === 'bot'
    const text = isBoolean ? `CASE WHEN ${column} THEN 'true' ELSE 'false' END` : column
    return {
      text,
      label: text,
      number: dialect.nullNumber,
      isText: `${!isBoolean}`,
      isBoolean: `${isBoolean}`,
      exists: `${column} IS NOT NULL`,
    }
  }

  const isOneOf = (value: JsonMember, wanted: readonly ScalarValue[]): string =>
    [...Map.groupBy(wanted, (one) => typeof one)]
      .map(([type, ones]) => {
        if (type === 'number')
          return dialect.isOneOf(
            value.number,
            ones.map((one) => parameters.number(Number(one))),
          )
        const texts = ones.map((one) => parameters.text(`${one}`))
        return `(${dialect.isOneOf(value.text, texts)} AND ${type === 'boolean' ? value.isBoolean : value.isText})`
      })
      .join(' OR ')
  const test = (filter: EventFilter, value: JsonMember): string => {
    switch (filter.test) {
      case 'exists':
        return value.exists
      case 'in':
        return `(${isOneOf(value, filter.values)})`
      case 'contains':
        return `(${dialect.contains(value.text, parameters.text(filter.value))} AND ${value.isText})`
      case 'starts_with':
        return `(${dialect.startsWith(value.text, parameters.text(filter.value))} AND ${value.isText})`
      default:
        return typeof filter.value === 'number'
          ? `${value.number} ${OPERATORS[filter.test]} ${parameters.number(filter.value)}`
          : `(${value.text} ${OPERATORS[filter.test]} ${parameters.text(filter.value)} AND ${value.isText})`
    }
  }

  const fulfilled = (filter: EventFilter, value: JsonMember): string => {
    const passed = `coalesce(${test(filter, value)}, false)`
    return filter.negated ? `NOT ${passed}` : passed
  }

  return {
    /** Whether a nullable text matches a filter, whose property is not used; never NULL. */
    textFulfils: (text: string, filter: EventFilter): string =>
      fulfilled(filter, {
        text,
        label: text,
        number: dialect.nullNumber,
        isText: 'true',
        isBoolean: 'false',
        exists: `${text} IS NOT NULL`,
      }),
    /** A property as a number, NULL for other types. */
    numberOf: (ref: PropertyRef): string => read(ref).number,
    /** A property as text for groups: objects and lists as JSON; NULL when it is missing. */
    textOf: (ref: PropertyRef): string => read(ref).label,
    /** Whether an event matches all filters; never NULL. */
    allOf: (filters: readonly EventFilter[]): string =>
      ['true', ...filters.map((filter) => fulfilled(filter, read(filter.property)))].join(' AND '),
  }
}
