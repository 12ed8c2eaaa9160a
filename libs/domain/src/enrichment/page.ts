const CLICK_ID_PARAMETERS = [
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

/** What a page's address tells about the visit. */
export type Page = {
  url: string | null
  path: string | null
  utm: Record<'source' | 'medium' | 'campaign' | 'term' | 'content', string | null>
  /** Click ids found in the query, by parameter name. */
  clickIds: Record<string, string>
}

// An escape in a query may decode to U+0000, which PostgreSQL cannot hold.
const text = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.replaceAll('\0', '\uFFFD') : null

/** Reads the well-known properties `url` and `path`. A `url` that cannot be parsed is kept as it is, without a query. */
export const describePage = (properties: Record<string, unknown>): Page => {
  const url = text(properties.url)
  // The base lets a relative address through; nothing of it is kept.
  const parsed = url === null ? null : URL.parse(url, 'http://relative.invalid')
  const query = parsed?.searchParams ?? new URLSearchParams()
  const utm = (name: string) => text(query.get(`utm_${name}`))
  const clickIds: Record<string, string> = {}
  for (const name of CLICK_ID_PARAMETERS) {
    const id = text(query.get(name))
    if (id !== null) clickIds[name] = id
  }
  return {
    url,
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

/** The host that a referrer names, lower-case and without a port; `null` when it names none. */
export const hostOf = (referrer: string | null): string | null =>
  referrer === null ? null : text(URL.parse(referrer)?.hostname)
