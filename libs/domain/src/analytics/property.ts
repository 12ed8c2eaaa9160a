/** Columns that the event store keeps apart from an event's properties. */
export const eventColumns = [
  'eventName',
  'browser',
  'os',
  'device',
  'country',
  'city',
  'path',
  'referrerHost',
  'bot',
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmTerm',
  'utmContent',
  'link',
  'campaign',
] as const
export type EventColumn = (typeof eventColumns)[number]

/** A value of an event: one of its columns, a path into its properties, or a path into its person's traits. */
export type PropertyRef =
  | { readonly source: 'column'; readonly column: EventColumn }
  | { readonly source: 'properties' | 'traits'; readonly path: readonly string[] }

const COLUMN_NAMES: Record<string, EventColumn> = {
  eventName: 'eventName',
  link: 'link',
  campaign: 'campaign',
  'context.browser': 'browser',
  'context.os': 'os',
  'context.device': 'device',
  'context.country': 'country',
  'context.city': 'city',
  'context.path': 'path',
  'context.referrerHost': 'referrerHost',
  'context.bot': 'bot',
  'utm.source': 'utmSource',
  'utm.medium': 'utmMedium',
  'utm.campaign': 'utmCampaign',
  'utm.term': 'utmTerm',
  'utm.content': 'utmContent',
}

/** Segments of a path into properties or traits. */
export const MAX_PROPERTY_DEPTH = 5

/** What a property name may be, for error messages. */
export const PROPERTY_NAMES = `properties.<path>, traits.<path> (up to ${MAX_PROPERTY_DEPTH} keys; a dot within a key is written \\.), ${Object.keys(COLUMN_NAMES).join(', ')}`

/** Reads a property name; `undefined` when it names nothing that an event has. */
export const parsePropertyName = (name: string): PropertyRef | undefined => {
  const column = Object.hasOwn(COLUMN_NAMES, name) ? COLUMN_NAMES[name] : undefined
  if (column) return { source: 'column', column }
  const [source, ...path] = splitPath(name)
  if (source !== 'properties' && source !== 'traits') return undefined
  if (path.length === 0 || path.length > MAX_PROPERTY_DEPTH || path.includes('')) return undefined
  return { source, path }
}

/** Splits at dots; a backslash takes the next character literally. */
const splitPath = (name: string): string[] => {
  const segments = ['']
  for (let at = 0; at < name.length; at++) {
    const character = name.charAt(at)
    if (character === '.') segments.push('')
    else segments[segments.length - 1] += character === '\\' ? name.charAt(++at) : character
  }
  return segments
}

/** The value at a path of keys. Lists have no keys. */
export const valueAt = (members: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    members,
  )

/** The name of a key below `properties` or `traits`, as `parsePropertyName` reads it. */
export const propertyNameOf = (source: 'properties' | 'traits', path: readonly string[]): string =>
  [source, ...path.map((segment) => segment.replace(/[\\.]/g, '\\$&'))].join('.')
