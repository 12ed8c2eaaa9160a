/** A filter of the page: a property, and the value that it has; `null` when it is unknown. */
export type WebFilter = readonly [property: string, value: string | null]

/** What can be filtered, by the property of the filter. */
export const DIMENSIONS = {
  'context.path': 'Page',
  'visit.entryPage': 'Entry page',
  'visit.exitPage': 'Exit page',
  'visit.channel': 'Channel',
  'visit.source': 'Source',
  'visit.campaign': 'Campaign',
  'visit.country': 'Country',
  'visit.browser': 'Browser',
  'visit.os': 'System',
  'visit.device': 'Device',
} as const
export type Dimension = keyof typeof DIMENSIONS

const isFilter = (value: unknown): value is WebFilter =>
  Array.isArray(value) &&
  Object.hasOwn(DIMENSIONS, `${value[0]}`) &&
  (value[1] === null || typeof value[1] === 'string')

/** The filters in a URL. What is none is left out. */
export const parseFilters = (text: string | undefined): WebFilter[] => {
  try {
    const list: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(list) ? list.filter(isFilter) : []
  } catch {
    return []
  }
}

/** The inverse of `parseFilters`. */
export const formatFilters = (filters: readonly WebFilter[]): string =>
  filters.length === 0 ? '' : JSON.stringify(filters)

/** Adds a filter, instead of one of the same property; removes it if it is there. */
export const toggleFilter = (filters: readonly WebFilter[], [property, value]: WebFilter): WebFilter[] => {
  const others = filters.filter(([other]) => other !== property)
  const isThere = filters.some((filter) => filter[0] === property && filter[1] === value)
  return isThere ? others : [...others, [property, value]]
}

/** The filters of a request. */
export const requestFilters = (filters: readonly WebFilter[]) =>
  filters.map(([property, value]) =>
    value === null ? { property, op: 'not_exists' as const } : { property, op: 'eq' as const, value },
  )
