/** Parameters of the address of a page, by their names in lower case. */
export type PageParameters = ReadonlyMap<string, string>

/** What HTML leaves of `&` in an address that was escaped once or more. */
const ESCAPED_AND = /^(?:(?:amp|#?38|#?x26);)+/
/** Parameters of a query, and of a fragment, that are read. Thousands in each event of a batch would delay other requests. */
const MAX_PARAMETERS = 200

/**
 * Reads the parameters of an address: those of its query, then those of its fragment, as in `#/sale?utm_source=news`. The
 * first value that is not empty counts. Names are in lower case, since people write `UTM_SOURCE`, and lose the rest of an
 * escaped `&amp;`.
 */
export const pageParametersOf = (url: URL | null): PageParameters => {
  const found = new Map<string, string>()
  if (url === null) return found
  // Most addresses have neither, and parsing is slow.
  for (const query of [url.search, queryInFragment(url.hash)].filter((text) => text !== ''))
    for (const [name, value] of new URLSearchParams(query.split('&', MAX_PARAMETERS).join('&'))) {
      const known = name.toLowerCase().replace(ESCAPED_AND, '')
      if (value !== '' && !found.has(known)) found.set(known, value)
    }
  return found
}

const queryInFragment = (hash: string): string => {
  const start = hash.indexOf('?')
  if (start !== -1) return hash.slice(start)
  return hash.includes('=') ? hash.slice('#'.length) : ''
}

/** The host of relative addresses. It does not get into any result. */
export const NO_HOST = 'relative.invalid'

/** Parses the address of a page, which may be relative. */
export const parsePageUrl = (url: string | null): URL | null =>
  url === null ? null : URL.parse(url, `http://${NO_HOST}`)
