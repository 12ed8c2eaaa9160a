import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError, MAX_BODY_VALUES } from '@waymark/contracts'
import { holdsNumberOutOfRange, parseClientJson } from '@waymark/domain'
import { isForm, jsonOfForm } from './form-beacon.ts'
import { readBody } from './read-bytes.ts'
import type { HttpRequest } from './request.ts'

/** A JSON body, and its bytes after decompression with their number and digest. */
export type JsonBody = { value: unknown; raw: Buffer; bytes: number; digest: () => string }

/** The body of an operation without one. */
export const noBody: JsonBody = { value: undefined, raw: Buffer.alloc(0), bytes: 0, digest: () => '' }

/**
 * `numbers`: whether a number that is out of range makes the body invalid, or becomes `Infinity`.
 * `text`: whether the types that need no preflight are also allowed, see `needsNoPreflight`. `anyType`: whether the type is
 * ignored. With either, a form is read too.
 */
export type JsonBodyOptions = { numbers?: 'in range' | 'any' | undefined; text?: boolean; anyType?: boolean }

/**
 * Reads a JSON body of at most `limit` bytes, counted after decompression (gzip, deflate, br).
 * @throws AppError unsupported_media_type for other types, payload_too_large above the limit or `MAX_BODY_VALUES` values,
 * request_timeout for a body that arrives too slowly, bad_request for invalid JSON or a number that is out of range
 */
export const readJsonBody = async (
  request: HttpRequest,
  limit: number,
  options: JsonBodyOptions = {},
): Promise<JsonBody> => {
  requireJson(request.message, options)
  const bytes = await readBody(request, limit)
  const type = request.message.headers['content-type'] ?? ''
  const isOfForm = (options.text || options.anyType) && isForm(essenceOf(type))
  const body = parseBody(isOfForm ? await jsonOfForm(bytes, type) : bytes, options)
  // Lets other requests run between parsing and handling a large body.
  if (body.bytes > COUNTED_BYTES) await nextTurn()
  return body
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/

/** Whether a page may send a body to another site without a preflight: text, a form, or bytes without a type. */
export const needsNoPreflight = ({ headers }: Pick<HttpRequest, 'headers'>): boolean => {
  const essence = essenceOf(headers['content-type'] ?? '')
  return essence === '' || essence === 'text/plain' || isForm(essence)
}

/** Whether a body is JSON that a page sends, such as `navigator.sendBeacon` with a Blob of JSON. */
export const isJsonOfPage = ({ headers }: Pick<HttpRequest, 'headers'>): boolean =>
  headers.origin !== undefined && JSON_TYPE.test(essenceOf(headers['content-type'] ?? ''))

/** A media type without its parameters. */
export const essenceOf = (type: string): string => type.toLowerCase().split(';', 1)[0]?.trim() ?? ''

const requireJson = (
  request: Pick<HttpRequest, 'headers'>,
  { text = false, anyType = false }: JsonBodyOptions,
): void => {
  if (anyType) return
  const type = request.headers['content-type'] ?? ''
  if (type === 'application/json') return
  if (JSON_TYPE.test(essenceOf(type)) || (text && needsNoPreflight(request))) return
  throw new AppError('unsupported_media_type', 'The body must be JSON, with Content-Type: application/json')
}

/** Only the values of larger bodies are counted, in bytes. Smaller ones are parsed fast enough. */
const COUNTED_BYTES = 1024 * 1024

const BYTE_ORDER_MARK = '\uFEFF'

/** Decodes like a TextDecoder, but much faster. */
const decodeUtf8 = (bytes: Buffer): string => {
  const text = bytes.toString('utf8')
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

const parseBody = (bytes: Buffer, { numbers = 'in range' }: JsonBodyOptions): JsonBody => {
  if (bytes.length > COUNTED_BYTES && hasMoreValuesThan(MAX_BODY_VALUES, bytes))
    throw new AppError(
      'payload_too_large',
      `The body holds more than ${MAX_BODY_VALUES} values (members and items); send them in several requests`,
    )
  const text = decodeUtf8(bytes)
  const value = parse(text)
  if (numbers === 'in range' && holdsNumberOutOfRange(text, value))
    throw new AppError('bad_request', 'The body holds a number that is out of range')
  return { value, raw: bytes, bytes: bytes.length, digest: () => hash('sha256', bytes, 'base64url') }
}

const parse = (text: string): unknown => {
  try {
    return parseClientJson(text)
  } catch {
    throw new AppError('bad_request', text.length === 0 ? 'The body is empty' : 'The body is not valid JSON')
  }
}

const codeOf = (sign: string): number => sign.charCodeAt(0)
const [SPACE, QUOTE, BACKSLASH, COMMA] = [codeOf(' '), codeOf('"'), codeOf('\\'), codeOf(',')]
const OPENING = new Set([codeOf('['), codeOf('{')])
const CLOSING = new Set([codeOf(']'), codeOf('}')])

/**
 * Whether JSON text contains more values (members and items at any depth) than `limit`, without parsing it. Counts commas
 * and the first value of each array and object.
 */
export const hasMoreValuesThan = (limit: number, json: Uint8Array): boolean => {
  let values = 0
  let inString = false
  let justOpened = false
  for (let index = 0; index < json.length; index++) {
    const byte = json[index] as number
    if (inString) {
      if (byte === BACKSLASH) index++
      else if (byte === QUOTE) inString = false
      continue
    }
    if (byte <= SPACE) continue
    if (byte === COMMA) values++
    else if (justOpened && !CLOSING.has(byte)) values++
    if (values > limit) return true
    inString = byte === QUOTE
    justOpened = OPENING.has(byte)
  }
  return false
}
