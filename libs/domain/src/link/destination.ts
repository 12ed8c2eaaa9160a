import { MAX_DESTINATION_LENGTH } from '@waymark/contracts/http/link-parts'
import type { LinkUtm } from '@waymark/contracts/http/links'

/** The query parameter that passes the click id to the destination. */
export const CLICK_PARAMETER = 'wm_click'

const ABSOLUTE = /^https?:\/\//i
const CONTROL = /\p{Cc}/u

/** A normalized destination, or why it is invalid. */
type CheckedDestination = { url: string } | { problem: string }

/**
 * Normalizes a destination by the WHATWG URL standard, to printable ASCII. It must be an absolute http or https URL without
 * credentials and control characters, of at most 2,048 characters.
 */
export const checkDestination = (text: string): CheckedDestination => {
  if (text.length > MAX_DESTINATION_LENGTH) return { problem: 'is too long' }
  if (CONTROL.test(text)) return { problem: 'has control characters' }
  // The parser also accepts `https:example.com`.
  if (!ABSOLUTE.test(text.trim())) return { problem: 'is not an absolute http or https address' }
  const url = URL.parse(text)
  if (url === null) return { problem: 'is not a valid address' }
  if (url.username !== '' || url.password !== '') return { problem: 'has credentials' }
  if (url.href.length > MAX_DESTINATION_LENGTH) return { problem: 'is too long' }
  return { url: url.href }
}

/** A prepared destination. Parameters are added between `head` and `tail`. */
export type PreparedDestination = {
  /** The whole URL without additions. */
  url: string
  head: string
  separator: '?' | '&'
  /** The fragment, including `#`. */
  tail: string
  /** Its own parameters. */
  parameters: readonly string[]
}

/**
 * Prepares a normalized destination, so that redirects need no parsing. Adds missing UTM parameters and removes a copied
 * click id.
 */
export const prepareDestination = (url: string, utm: LinkUtm): PreparedDestination => {
  const parsed = new URL(url)
  const tail = parsed.hash
  const query = withoutClickId(parsed.search.slice(1))
  parsed.hash = ''
  parsed.search = ''
  const own = new Set(new URLSearchParams(query).keys())
  const added = new URLSearchParams()
  for (const [name, value] of Object.entries(utm))
    if (!own.has(`utm_${name}`)) added.set(`utm_${name}`, value)
  const head = join(join(parsed.href, '?', query), query === '' ? '?' : '&', added.toString())
  const hasQuery = query !== '' || added.size > 0
  return {
    url: head + tail,
    head,
    separator: hasQuery ? '&' : '?',
    tail,
    parameters: [...own, ...added.keys()],
  }
}

/** Removes the click ids from a query. The rest stays byte for byte, because destinations may be signed. */
const withoutClickId = (query: string): string =>
  query
    .split('&')
    .filter((part) => !new URLSearchParams(part).has(CLICK_PARAMETER))
    .join('&')

/**
 * The URL for a visitor. Appends `clickId` unless null, and the parameters of `query` (as in the request, without `?`) that
 * the destination does not have. They are encoded again, so that they cannot inject anything.
 */
export const addressFor = (
  { url, head, separator, tail, parameters }: PreparedDestination,
  clickId: string | null,
  query = '',
): string => {
  const forwarded = query === '' ? '' : forwardable(query, parameters)
  const click = clickId === null ? '' : `${CLICK_PARAMETER}=${clickId}`
  if (forwarded === '' && click === '') return url
  const added = forwarded === '' ? click : join(forwarded, '&', click)
  return `${head}${separator}${added}${tail}`
}

const forwardable = (query: string, parameters: readonly string[]): string => {
  const own = new Set([...parameters, CLICK_PARAMETER])
  // Not by `delete`, which searches all parameters for each name.
  return new URLSearchParams([...new URLSearchParams(query)].filter(([name]) => !own.has(name))).toString()
}

const join = (left: string, separator: string, right: string): string =>
  right === '' ? left : `${left}${separator}${right}`
