import { type LinkUtm, MAX_DESTINATION_LENGTH } from '@waymark/contracts'

/** The parameter in which a destination is told the id of the click. */
export const CLICK_PARAMETER = 'wm_click'

const ABSOLUTE = /^https?:\/\//i
const CONTROL = /\p{Cc}/u

/** A usable destination in its normal form, or why it cannot be used. */
export type CheckedDestination = { url: string } | { problem: string }

/**
 * Normalises a destination as the WHATWG URL standard does, so that only printable ASCII is left of it. Refused is what
 * is not an absolute http or https address, has credentials or control characters, or is longer than 2,048 characters.
 */
export const checkDestination = (text: string): CheckedDestination => {
  if (text.length > MAX_DESTINATION_LENGTH) return { problem: 'is too long' }
  if (CONTROL.test(text)) return { problem: 'has control characters' }
  // The parser alone would also take `https:example.com`.
  if (!ABSOLUTE.test(text.trim())) return { problem: 'is not an absolute http or https address' }
  const url = URL.parse(text)
  if (url === null) return { problem: 'is not a valid address' }
  if (url.username !== '' || url.password !== '') return { problem: 'has credentials' }
  if (url.href.length > MAX_DESTINATION_LENGTH) return { problem: 'is too long' }
  return { url: url.href }
}

/** A destination that is ready to be sent to: what may have to be added goes between `head` and `tail`. */
export type PreparedDestination = {
  /** The whole of it, when there is nothing to add. */
  url: string
  head: string
  separator: '?' | '&'
  /** From the `#` on. */
  tail: string
  /** The parameters that it has itself. */
  parameters: readonly string[]
}

/**
 * Prepares a normalised destination, so that sending a visitor there parses nothing: adds the UTM parameters that it has
 * not got, and takes a click id away that somebody copied with it.
 */
export const prepareDestination = (url: string, utm: LinkUtm): PreparedDestination => {
  const parsed = new URL(url)
  if (parsed.searchParams.has(CLICK_PARAMETER)) parsed.searchParams.delete(CLICK_PARAMETER)
  const tail = parsed.hash
  parsed.hash = ''
  // An empty query leaves its question mark behind unless it is assigned.
  if (parsed.search === '') parsed.search = ''
  const own = new Set(parsed.searchParams.keys())
  const added = new URLSearchParams()
  for (const [name, value] of Object.entries(utm))
    if (!own.has(`utm_${name}`)) added.set(`utm_${name}`, value)
  const head = join(parsed.href, parsed.search === '' ? '?' : '&', added.toString())
  const hasQuery = parsed.search !== '' || added.size > 0
  return {
    url: head + tail,
    head,
    separator: hasQuery ? '&' : '?',
    tail,
    parameters: [...own, ...added.keys()],
  }
}

/**
 * Where to send a visitor: `clickId` is appended unless null, and so are the parameters of `query` (as it stood in the
 * request, without its `?`) that the destination has not got. They are encoded anew: nothing else of them gets through.
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
  const own = new Set(parameters)
  const given = new URLSearchParams(query)
  for (const name of new Set(given.keys())) if (name === CLICK_PARAMETER || own.has(name)) given.delete(name)
  return given.toString()
}

const join = (left: string, separator: string, right: string): string =>
  right === '' ? left : `${left}${separator}${right}`
