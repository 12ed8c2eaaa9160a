// JSON from clients: parsing it safely, measuring it, and shortening it.

import { numberSource, parseNumbers } from '@waymark/contracts/number-source'

const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i
const NUL = /\0/g

/**
 * Parses JSON text and replaces U+0000 and lone surrogates, which PostgreSQL and UTF-8 cannot represent, by U+FFFD. Both
 * occur only as `\u` escapes, so other text needs no second pass. Keeps the source text of numbers that a double cannot
 * hold, see `numberSource`.
 * @throws SyntaxError when the text is not JSON
 */
export const parseClientJson = (text: string): unknown => {
  const value = parseNumbers(text)
  // Searching for fixed text first is much faster.
  return text.includes('\\u') && SUSPECT_ESCAPE.test(text) ? sanitize(value) : value
}

const sanitizeString = (text: string): string => text.toWellFormed().replace(NUL, '\uFFFD')

const sanitize = (value: unknown): unknown => {
  if (typeof value === 'string') return sanitizeString(value)
  if (typeof value !== 'object' || value === null) return value
  // Not recursive, because the nesting may exceed the call stack.
  const pending: object[] = [value]
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    for (const [key, child] of Object.entries(current)) {
      const cleanKey = sanitizeString(key)
      const cleanChild = typeof child === 'string' ? sanitizeString(child) : child
      if (typeof child === 'object' && child !== null) pending.push(child)
      if (cleanKey === key && cleanChild === child) continue
      if (cleanKey !== key) Reflect.deleteProperty(current, key)
      // An assignment would set the prototype for the key `__proto__`.
      Object.defineProperty(current, cleanKey, {
        value: cleanChild,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
  }
  return value
}

/** Measurements of a JSON value: an upper bound of its size in bytes, and whether it exceeds limits. */
export type JsonExtent = {
  bytesAtMost: number
  /** Nested deeper than allowed. Deeper values are not measured. */
  tooDeep: boolean
  /** Contains a number out of the range of a double, which `JSON.parse` turns into `Infinity`. */
  outOfRange: boolean
  /** Contains a number that is not an integer of at most 53 bits, and so may have lost digits. */
  mayLackDigits: boolean
}

/** Maximum bytes of a UTF-16 code unit, as a `\u` escape. */
const UNIT_BYTES = 6
/** Maximum bytes of a number, `false` or `null`. */
const NUMBER_BYTES = 25
const QUOTES_BYTES = 2
const SEPARATOR_BYTES = 1

/** Measures a JSON value in one pass. The outer object or array is level 1 of `maxDepth`. */
export const extentOf = (value: unknown, maxDepth: number): JsonExtent => {
  const extent = { bytesAtMost: 0, tooDeep: false, outOfRange: false, mayLackDigits: false }
  addExtent(extent, value, maxDepth)
  return extent
}

const addExtent = (extent: JsonExtent, value: unknown, levels: number): void => {
  if (typeof value === 'string') {
    extent.bytesAtMost += QUOTES_BYTES + UNIT_BYTES * value.length
    return
  }
  extent.bytesAtMost += NUMBER_BYTES
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) extent.mayLackDigits = true
    if (!Number.isFinite(value)) extent.outOfRange = true
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (levels === 0) {
    extent.tooDeep = true
    return
  }
  if (Array.isArray(value)) {
    extent.bytesAtMost += SEPARATOR_BYTES * value.length
    for (const child of value) addExtent(extent, child, levels - 1)
    return
  }
  // Parsed JSON has no enumerable inherited members, and `for in` avoids an array per object.
  for (const key in value) {
    extent.bytesAtMost += QUOTES_BYTES + UNIT_BYTES * key.length + 2 * SEPARATOR_BYTES
    addExtent(extent, (value as Record<string, unknown>)[key], levels - 1)
  }
}

/** Whether a JSON value is nested deeper than `limit` levels. The outer object or array is level 1. */
export const isDeeperThan = (value: unknown, limit: number): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  if (Array.isArray(value)) return value.some((child) => isDeeperThan(child, limit - 1))
  // Parsed JSON has no enumerable inherited members, and `for in` avoids an array per object.
  for (const key in value) if (isDeeperThan((value as Record<string, unknown>)[key], limit - 1)) return true
  return false
}

/** Number of characters that count as one value, because patterns scan them. */
const CHARACTERS = 32

/** The number of values in a JSON value, including itself. Long strings and names count several times. Stops above `limit`. */
export const weightOf = (value: unknown, limit = Number.POSITIVE_INFINITY): number => {
  let weight = 0
  const pending: unknown[] = [value]
  while (pending.length > 0 && weight <= limit) {
    const current = pending.pop()
    weight += typeof current === 'string' ? 1 + current.length / CHARACTERS : 1
    if (Array.isArray(current)) for (const item of current) pending.push(item)
    else if (typeof current === 'object' && current !== null)
      for (const name in current) {
        weight += Math.floor(name.length / CHARACTERS)
        pending.push((current as Record<string, unknown>)[name])
      }
  }
  return weight
}

/** Whether a JSON value weighs more than `limit`. */
export const isHeavierThan = (value: unknown, limit: number): boolean => weightOf(value, limit) > limit

// A number out of the range of a double has an exponent of three digits, or very many digits. Only counted from the first
// digit on, because counting from each takes as many steps as there are digits.
const SUSPECT_NUMBER = /(?<!\d)\d{200}|\de\+?\d{3}/i

/** Whether a JSON value contains a number out of the range of a double, which `JSON.parse` turns into `Infinity`. */
export const holdsInfinity = (value: unknown): boolean => {
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const current = pending.pop()
    if (typeof current === 'number' && !Number.isFinite(current)) return true
    if (typeof current === 'object' && current !== null)
      for (const member of Object.values(current)) pending.push(member)
  }
  return false
}

/** Like `holdsInfinity`, but checks the source text first, which is much faster. */
export const holdsNumberOutOfRange = (text: string, value: unknown): boolean =>
  SUSPECT_NUMBER.test(text) && holdsInfinity(value)

/**
 * The first `length` characters of the JSON of a value, without half a surrogate pair at the end. It serializes only as
 * much as needed.
 */
export const jsonStart = (value: unknown, length: number): string =>
  startOf(value, length).slice(0, length).toWellFormed()

/** The same of a member of parsed JSON. A number that lost digits is returned as it was sent. */
export const memberStart = (container: object, key: string, length: number): string =>
  numberSource(container, key)?.slice(0, length) ?? jsonStart(Reflect.get(container, key), length)

/** The JSON of a value, which may be truncated after `length` characters. */
const startOf = (value: unknown, length: number): string => {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, length))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  let text = Array.isArray(value) ? '[' : '{'
  const startsWith = text
  for (const name in value) {
    if (text.length > length) return text
    if (text !== startsWith) text += ','
    if (!Array.isArray(value)) text += `${startOf(name, length)}:`
    text +=
      numberSource(value, name) ??
      startOf((value as Record<string, unknown>)[name], Math.max(0, length - text.length))
  }
  return text + (Array.isArray(value) ? ']' : '}')
}
