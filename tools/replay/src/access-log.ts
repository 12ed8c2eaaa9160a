import { isUtf8 } from 'node:buffer'
import { isIP } from 'node:net'

/** The fields of a line of an access log. Fields that are `-`, empty or invalid are undefined. */
export type AccessLogEntry = {
  /** Origin named by a virtual host in front of the line, such as `https://example.com`. */
  site: string | undefined
  /** Address or host name of the client as logged, without brackets and port; `-` when unknown. */
  address: string
  time: Date | undefined
  /** The decoded request line, which may be invalid. */
  request: string
  /** The requested path with its query, or an absolute URI. */
  target: string | undefined
  status: number | undefined
  referrer: string | undefined
  userAgent: string | undefined
}

// No unbounded repeat follows another, so that every line takes linear time.
const HEAD = /^(.*?)[ \t]\[([^\]"]{0,64})\][ \t]{1,8}"/s
const HEAD_WITHOUT_TIME = /^(.*?)[ \t]-[ \t]{1,8}"/s
const STATUS = /"[ \t]{1,8}(\d{3}|-)(?=[ \t]|$)/g
const SIZE = /^[ \t]*(?:\d+|-)?(?=[ \t]|$)/
const REQUEST = /^([\w!#$%&'*+.^`|~-]+) (.*?)(?: (HTTP\/\d(?:\.\d)?))?$/is
const TIME = /^(\d{1,2})\/(\w{3})\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,3})\d*)? ([+-])(\d\d):?(\d\d)$/
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const ESCAPE = /\\(?:x([\da-fA-F]{2})|(["\\bnrtv]))/g
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', n: '\n', r: '\r', t: '\t', v: '\v' }

/**
 * Parses a line of the common or combined log format, with an optional virtual host in front and further fields behind.
 * Undefined for a line without address, time, request and status. Never throws.
 *
 * Bytes, raw or written as `\xHH`, are UTF-8 when the field they stand in is valid UTF-8, else Latin-1.
 */
export const parseAccessLogLine = (line: Uint8Array): AccessLogEntry | undefined => {
  // Latin-1 makes every byte one character: the ASCII delimiters are found in any encoding.
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('latin1')
  const head = HEAD.exec(text) ?? HEAD_WITHOUT_TIME.exec(text)
  if (!head) return undefined
  const rest = text.slice(head[0].length)
  const status = findStatus(rest)
  if (!status) return undefined
  const request = decodeField(rest.slice(0, status.start))
  const [referrer, userAgent] = splitTail(rest.slice(status.end).replace(SIZE, ''))
  return {
    ...splitHead(head[1] ?? ''),
    time: parseTime(head[2] ?? ''),
    request,
    target: targetOf(request),
    status: status.code === '-' ? undefined : Number(status.code),
    referrer: optional(referrer),
    userAgent: optional(userAgent),
  }
}

type Status = { start: number; end: number; code: string }

const findStatus = (rest: string): Status | undefined => {
  let first: Status | undefined
  let firstUnescaped: Status | undefined
  for (const match of rest.matchAll(STATUS)) {
    const found = { start: match.index, end: match.index + match[0].length, code: match[1] ?? '-' }
    const escaped = isEscaped(rest, match.index)
    if (!escaped && / HTTP\/\d(?:\.\d)?$/i.test(rest.slice(0, match.index).slice(-9))) return found
    first ??= found
    if (!escaped) firstUnescaped ??= found
  }
  // A request without a protocol, or one that ends in a backslash that the server did not escape.
  return firstUnescaped ?? first
}

const splitHead = (head: string): Pick<AccessLogEntry, 'site' | 'address'> => {
  const tokens = head
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .split(/[ \t]/)
    .filter((token) => token !== '')
  const first = tokens[0] ?? '-'
  const second = tokens[1]
  const hasHost =
    second !== undefined &&
    second !== '-' &&
    !first.endsWith(',') &&
    isIP(bareAddress(first)) === 0 &&
    (isIP(bareAddress(second)) !== 0 || (tokens.length > 3 && /:\d+$/.test(first)))
  return {
    site: hasHost ? siteOf(first) : undefined,
    address: decodeField(bareAddress(hasHost ? second : first)),
  }
}

/** Removes a port, brackets, and further addresses of a list. */
const bareAddress = (token: string): string => {
  const alone = token.replace(/,.*$/s, '')
  const match = /^\[([^\]]+)\](?::\d+)?$/.exec(alone) ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(alone)
  return match?.[1] ?? alone
}

const siteOf = (token: string): string | undefined => {
  const port = /:(\d+)$/.exec(token)?.[1]
  const origin = URL.parse(`${port === '443' ? 'https' : 'http'}://${token}`)?.origin
  return origin === 'null' ? undefined : origin
}

const parseTime = (text: string): Date | undefined => {
  const match = TIME.exec(text)
  if (!match) return undefined
  const [, day, monthName = '', year, hour, minute, second, fraction = '', sign, zoneHours, zoneMinutes] =
    match
  const month = MONTHS.indexOf(monthName.toLowerCase())
  const inRange = Number(hour) < 24 && Number(minute) < 60 && Number(second) <= 60
  if (month < 0 || !inRange || Number(year) < 1000) return undefined
  const midnight = new Date(Date.UTC(Number(year), month, Number(day)))
  // Date.UTC turns 31 February into a day in March; such a date is invalid.
  if (midnight.getUTCMonth() !== month || midnight.getUTCDate() !== Number(day)) return undefined
  const zone = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === '-' ? -1 : 1)
  const minutes = Number(hour) * 60 + Number(minute) - zone
  const time = new Date(
    midnight.getTime() + minutes * 60_000 + Number(second) * 1000 + Number(fraction.padEnd(3, '0')),
  )
  return time.getUTCFullYear() > 9999 ? undefined : time
}

/** The page a request line asks for, or undefined: `-`, TLS bytes, a lone method, `OPTIONS *`, CONNECT. */
const targetOf = (request: string): string | undefined => {
  const match = REQUEST.exec(request)
  const [, method = '', named = '', protocol] = match ?? []
  // HTTP/0.9 has no version, so the target must look like an address ("USER anonymous" does not).
  const target = match ? named : request.replace(/ HTTP\/[\d.]*$/i, '')
  const isAddress = target.startsWith('/') || /^https?:\/\//i.test(target)
  if (isAddress) return target
  return protocol && target !== '' && target !== '*' && method.toUpperCase() !== 'CONNECT'
    ? target
    : undefined
}

/** Referrer and agent: the first two quoted fields, cleanly quoted or not. */
const splitTail = (tail: string): readonly [string | undefined, string | undefined] => {
  const clean = splitCleanFields(tail)
  if (clean) return [clean[0], clean[1]]
  // Unescaped quotes: the user agent extends from the first border of two fields to the last quote.
  const open = tail.indexOf('"') + 1
  const border = findBorder(tail, open)
  const last = tail.lastIndexOf('"')
  if (!border) return [tail.slice(open, last >= open ? last : undefined), undefined]
  return [tail.slice(open, border.start), tail.slice(border.end, last >= border.end ? last : undefined)]
}

const findBorder = (tail: string, from: number): { start: number; end: number } | undefined => {
  let first: { start: number; end: number } | undefined
  for (const match of tail.matchAll(/"[ \t]"/g)) {
    if (match.index < from) continue
    const border = { start: match.index, end: match.index + match[0].length }
    if (!isEscaped(tail, match.index)) return border
    first ??= border
  }
  return first
}

/** The quoted fields of a tail; undefined if a quote within a field is not escaped. */
const splitCleanFields = (tail: string): string[] | undefined => {
  const quoted: string[] = []
  let at = 0
  while (at < tail.length) {
    if (isSpace(tail[at])) {
      at += 1
    } else if (tail[at] === '"') {
      const close = closingQuote(tail, at + 1)
      if (close < 0 || !isSpace(tail[close + 1])) return undefined
      quoted.push(tail.slice(at + 1, close))
      at = close + 1
    } else {
      const start = at
      while (!isSpace(tail[at])) at += 1
      if (tail.slice(start, at).includes('"')) return undefined
    }
  }
  return quoted
}

const isSpace = (character: string | undefined): boolean =>
  character === undefined || character === ' ' || character === '\t'

const closingQuote = (text: string, from: number): number => {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at
  }
  return -1
}

const isEscaped = (text: string, index: number): boolean => {
  let at = index
  while (text[at - 1] === '\\') at -= 1
  return (index - at) % 2 === 1
}

const optional = (field: string | undefined): string | undefined =>
  field === undefined || field === '' || field === '-' ? undefined : decodeField(field)

/** Decodes the escapes of Apache (`\"`, `\\`, `\t`, `\xHH`) and nginx (`\xHH`), then the bytes. */
const decodeField = (field: string): string => {
  const bytes = field.includes('\\') ? field.replace(ESCAPE, unescapeOne) : field
  if (!/[\u0080-\u00ff]/.test(bytes)) return bytes
  const buffer = Buffer.from(bytes, 'latin1')
  return isUtf8(buffer) ? buffer.toString('utf8') : bytes
}

const unescapeOne = (_escape: string, hex: string | undefined, character = ''): string =>
  hex === undefined ? (CONTROLS[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16))
