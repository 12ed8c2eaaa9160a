import { NO_HOST, pageParametersOf, parsePageUrl } from './page-parameters.ts'

/** The parameters with which advertisements mark their clicks. */
export const clickParameters = [
  'gclid',
  'gbraid',
  'wbraid',
  'dclid',
  'fbclid',
  'msclkid',
  'ttclid',
  'twclid',
  'li_fat_id',
] as const

/** What the URL of a page contains about the visit. */
type Page = {
  url: string | null
  /** In lower case, without a port. `null` when the address is relative or cannot be parsed. */
  host: string | null
  path: string | null
  utm: Record<'source' | 'medium' | 'campaign' | 'term' | 'content', string | null>
  /** Click ids in the address, by parameter name. */
  clickIds: Record<string, string>
}

// A query may contain an encoded U+0000, which PostgreSQL does not store.
const text = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.replaceAll('\0', '\uFFFD') : null

/**
 * Reads the properties `url` and `path`, and those of the campaign, `utm_source` and so on, where `url` has
 * none. A `url` that cannot be parsed is kept as it is, without its query.
 */
export const describePage = (properties: Record<string, unknown>): Page => {
  const url = text(properties.url)
  const parsed = parsePageUrl(url)
  const query = pageParametersOf(parsed)
  const utm = (name: string) => text(query.get(`utm_${name}`)) ?? text(properties[`utm_${name}`])
  const clickIds: Record<string, string> = {}
  for (const name of clickParameters) {
    const id = text(query.get(name))
    if (id !== null) clickIds[name] = id
  }
  const host = parsed?.hostname
  return {
    url,
    host: host === NO_HOST ? null : text(host),
    path: text(properties.path) ?? parsed?.pathname ?? null,
    utm: {
      source: utm('source'),
      medium: utm('medium'),
      campaign: utm('campaign'),
      term: utm('term'),
      content: utm('content'),
    },
    clickIds,
  }
}

/** The host of a referrer in lower case, without a port. `null` when there is none. */
export const urlHostOf = (referrer: string | null): string | null =>
  referrer === null ? null : text(URL.parse(referrer)?.hostname)
