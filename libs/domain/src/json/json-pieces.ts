// Parsing long JSON in pieces, so that other work can run between them.

import { appendItems } from '@waymark/contracts/number-source'

/**
 * Limits of a text. A piece, which cannot be divided, is an item of a list, or what is beside the lists of an object.
 */
export type JsonLimits = {
  /** Maximum values (members and items at any depth). */
  values: number
  pieceValues: number
  /** Maximum characters of a piece. */
  pieceLength: number
}

/** A text exceeds a limit. */
export class JsonLimitError extends Error {
  readonly limited: keyof JsonLimits
  readonly limit: number

  constructor(limited: keyof JsonLimits, limit: number) {
    super(`More ${limited} than ${limit}`)
    this.limited = limited
    this.limit = limit
  }
}

/** Characters of a list that are parsed at once. An item is not divided. */
const PIECE_LENGTH = 16 * 1024

const codeOf = (sign: string): number => sign.charCodeAt(0)
const SPACE = codeOf(' ')
const SPACES = new Set([' ', '\t', '\n', '\r'].map(codeOf))
const isSpace = (code: number): boolean => code <= SPACE && SPACES.has(code)
const [QUOTE, BACKSLASH, COMMA, COLON] = ['"', '\\', ',', ':'].map(codeOf)
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = ['[', ']', '{', '}'].map(codeOf)

/**
 * Parses JSON text by calling `parse` for pieces of it, and yields after each: the items of a list, of the lists that are
 * members of an object, and the rest of the object. The result is that of `parse` for the whole text.
 * @throws SyntaxError when the text is not JSON, JsonLimitError, and what `parse` throws
 */
export function* parseInPieces(
  text: string,
  parse: (piece: string) => unknown,
  limits: JsonLimits,
): Generator<undefined, unknown, void> {
  const scan = createScan(text, limits)
  const start = scan.afterSpace(0)
  if (text.charCodeAt(start) === OPEN_LIST) {
    const { items, end } = yield* parseList(text, start, parse, scan)
    if (scan.afterSpace(end) !== text.length) throw notJson()
    return items
  }
  if (text.charCodeAt(start) !== OPEN_OBJECT) return parse(text)
  return yield* parseObject(text, start, parse, scan)
}

type Scan = ReturnType<typeof createScan>
type List = { items: unknown[]; end: number }

/** Parses the lists of an object by their pieces, and the object with empty lists in their places. */
function* parseObject(
  text: string,
  start: number,
  parse: (piece: string) => unknown,
  scan: Scan,
): Generator<undefined, unknown, void> {
  const lists: [name: string, items: unknown[]][] = []
  let rest = ''
  let copied = 0
  let at = scan.afterSpace(start + 1)
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = scan.endOfString(at)
    const colon = scan.afterSpace(nameEnd)
    if (text.charCodeAt(colon) !== COLON) throw notJson()
    const value = scan.afterSpace(colon + 1)
    if (text.charCodeAt(value) === OPEN_LIST) {
      scan.count(1)
      const { items, end } = yield* parseList(text, value, parse, scan)
      lists.push([JSON.parse(text.slice(at, nameEnd)) as string, items])
      rest += `${text.slice(copied, value)}[]`
      copied = end
      at = scan.afterSpace(end)
    } else {
      at = scan.endOfValue(value, true)
    }
    if (text.charCodeAt(at) === COMMA) at = scan.afterSpace(at + 1)
  }
  const parsed = parse(rest + text.slice(copied)) as object
  yield
  // An assignment would set the prototype for the name `__proto__`. A later member may have the same name.
  for (const [name, value] of lists)
    if (Array.isArray(Reflect.get(parsed, name))) Object.defineProperty(parsed, name, { value })
  return parsed
}

function* parseList(
  text: string,
  start: number,
  parse: (piece: string) => unknown,
  scan: Scan,
): Generator<undefined, List, void> {
  const items: unknown[] = []
  let pieceStart = start + 1
  for (let at = pieceStart; ; at++) {
    at = scan.endOfValue(at)
    const code = text.charCodeAt(at)
    if (code !== COMMA && code !== CLOSE_LIST) throw notJson()
    if (code === COMMA && at - pieceStart < PIECE_LENGTH) continue
    const piece = parse(`[${text.slice(pieceStart, at)}]`) as unknown[]
    // Nothing between two commas, or after the last one.
    if (piece.length === 0 && (items.length > 0 || code === COMMA)) throw notJson()
    appendItems(items, piece)
    yield
    if (code === CLOSE_LIST) return { items, end: at + 1 }
    pieceStart = at + 1
  }
}

/** Finds the ends of values and counts them. */
const createScan = (text: string, limits: JsonLimits) => {
  let values = 0
  const rest = { values: 0, length: 0 }

  const check = (limited: keyof JsonLimits, found: number): void => {
    if (found > limits[limited]) throw new JsonLimitError(limited, limits[limited])
  }

  const afterSpace = (start: number): number => {
    let at = start
    while (isSpace(text.charCodeAt(at))) at++
    return at
  }

  /** The end of a string that starts with a quote at `start`. */
  const endOfString = (start: number): number => {
    for (let at = start + 1; ; at++) {
      at = text.indexOf('"', at)
      if (at < 0) throw notJson()
      let escapes = 0
      while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++
      if (escapes % 2 === 0) return at + 1
    }
  }

  const count = (more: number): void => {
    values += more
    check('values', values)
  }

  /** The place of what follows a value: a comma, a closing bracket or the end. */
  const endOfValue = (start: number, isOfRest = false): number => {
    let depth = 0
    // The value itself, once it has begun.
    let counted = 0
    let begins = true
    let at = start
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (isSpace(code)) continue
      const closes = code === CLOSE_LIST || code === CLOSE_OBJECT
      if (depth === 0 && (code === COMMA || closes)) break
      if (begins && !closes) counted++
      begins = code === OPEN_LIST || code === OPEN_OBJECT || code === COMMA
      if (code === OPEN_LIST || code === OPEN_OBJECT) depth++
      else if (closes) depth--
      else if (code === QUOTE) at = endOfString(at) - 1
      if (begins) {
        check('pieceValues', counted)
        check('pieceLength', at - start)
      }
    }
    if (isOfRest) {
      rest.values += counted
      rest.length += at - start
    }
    check('pieceValues', isOfRest ? rest.values : counted)
    check('pieceLength', isOfRest ? rest.length : at - start)
    count(counted)
    return at
  }

  return { afterSpace, endOfString, endOfValue, count }
}

const notJson = (): SyntaxError => new SyntaxError('The text is not JSON')
