import { hash } from 'node:crypto'
import { AppError } from '@waymark/contracts/app-error'
import {
  MAX_BODY_PART_CHARACTERS,
  MAX_BODY_PART_VALUES,
  MAX_BODY_VALUES,
} from '@waymark/contracts/http/operation'
import { LoopTurns } from '@waymark/domain/fairness'
import { holdsNumberOutOfRange, JsonLimitError, parseClientJson, parseInPieces } from '@waymark/domain/json'
import { isForm, jsonOfForm } from './form-beacon.ts'
import { readBody } from './read-bytes.ts'
import type { HttpRequest } from './request.ts'
import { decodeUnlabelled } from './unlabelled-body.ts'

/** A JSON body, and its bytes after decompression with their number and digest. */
export type JsonBody = { value: unknown; raw: Buffer; bytes: number; digest: () => string }

/** The body of an operation without one. */
export const noBody: JsonBody = { value: undefined, raw: Buffer.alloc(0), bytes: 0, digest: () => '' }

/**
 * `numbers`: whether a number that is out of range makes the body invalid, or becomes `Infinity`.
 * `text`: whether the types that need no preflight are also allowed, see `needsNoPreflight`. `anyType`: whether the type is
 * ignored. With either, a form is read too. `unlabelled`: whether the body may be gzip or base64 without a header that
 * says so, as SDKs of PostHog send it.
 */
export type JsonBodyOptions = {
  numbers?: 'in range' | 'any' | undefined
  text?: boolean
  anyType?: boolean
  unlabelled?: boolean
}

/**
 * Reads a JSON body of at most `limit` bytes, counted after decompression (gzip, deflate, br).
 * @throws AppError unsupported_media_type for other types, payload_too_large above the limit or above those of a body that is
 * parsed in pieces, request_timeout for a body that arrives too slowly, bad_request for invalid JSON or a number that is out of range
 */
export const readJsonBody = async (
  request: HttpRequest,
  limit: number,
  options: JsonBodyOptions = {},
): Promise<JsonBody> => {
  requireJson(request.message, options)
  const read = await readBody(request, limit)
  const type = request.message.headers['content-type'] ?? ''
  const bytes = options.unlabelled ? await decodeUnlabelled(read, limit) : read
  const isOfForm = (options.text || options.anyType) && isForm(essenceOf(type))
  return parseBody(isOfForm ? await jsonOfForm(bytes, type) : bytes, options)
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/

/** Whether a page may send a body to another site without a preflight: text, a form, or bytes without a type. */
export const needsNoPreflight = ({ headers }: Pick<HttpRequest, 'headers'>): boolean => {
  const essence = essenceOf(headers['content-type'] ?? '')
  return essence === '' || essence === 'text/plain' || isForm(essence)
}

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

/** Longer bodies are parsed in pieces, in bytes. Their values are limited. */
const PARSED_AT_ONCE_BYTES = 64 * 1024
const LIMITS = {
  values: MAX_BODY_VALUES,
  pieceValues: MAX_BODY_PART_VALUES,
  pieceLength: MAX_BODY_PART_CHARACTERS,
}

const BYTE_ORDER_MARK = '\uFEFF'

/** Decodes like a TextDecoder, but much faster. */
const decodeUtf8 = (bytes: Buffer): string => {
  const text = bytes.toString('utf8')
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

const parseBody = async (bytes: Buffer, { numbers = 'in range' }: JsonBodyOptions): Promise<JsonBody> => {
  const text = decodeUtf8(bytes)
  const parse = (piece: string): unknown => {
    const value = parseClientJson(piece)
    if (numbers === 'in range' && holdsNumberOutOfRange(piece, value))
      throw new AppError('bad_request', 'The body holds a number that is out of range')
    return value
  }
  try {
    const value = bytes.length > PARSED_AT_ONCE_BYTES ? await parseInTurns(text, parse) : parse(text)
    return { value, raw: bytes, bytes: bytes.length, digest: () => hash('sha256', bytes, 'base64url') }
  } catch (error) {
    if (error instanceof AppError) throw error
    if (error instanceof JsonLimitError) throw exceeded(error)
    throw new AppError('bad_request', text.length === 0 ? 'The body is empty' : 'The body is not valid JSON')
  }
}

/** Parses a long text, and lets other requests run in between. */
const parseInTurns = async (text: string, parse: (piece: string) => unknown): Promise<unknown> => {
  const turns = new LoopTurns()
  const pieces = parseInPieces(text, parse, LIMITS)
  for (;;) {
    const { done, value } = pieces.next()
    if (done) return value
    if (turns.isOver()) await turns.next()
  }
}

const LIMITED = {
  values: (limit: number) =>
    `The body holds more than ${limit} values (members and items); send them in several requests`,
  pieceValues: (limit: number) =>
    `A part of the body holds more than ${limit} values (members and items); only a list at its top may hold more`,
  pieceLength: (limit: number) =>
    `A part of the body has more than ${limit} characters; only a list at its top may have more`,
}

const exceeded = ({ limited, limit }: JsonLimitError): AppError =>
  new AppError('payload_too_large', LIMITED[limited](limit))
