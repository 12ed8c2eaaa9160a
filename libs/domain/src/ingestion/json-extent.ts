/** Measurements of a JSON value: an upper bound of its size in bytes, and whether it exceeds limits. */
type JsonExtent = {
  bytesAtMost: number
  /** Nested deeper than allowed. Deeper values are not measured. */
  tooDeep: boolean
  /** Contains a number out of the range of a double, which `JSON.parse` turns into `Infinity`. */
  outOfRange: boolean
}

/** Maximum bytes of a UTF-16 code unit, as a `\u` escape. */
const UNIT_BYTES = 6
/** Maximum bytes of a number, `false` or `null`. */
const NUMBER_BYTES = 25
const QUOTES_BYTES = 2
const SEPARATOR_BYTES = 1

/** Measures a JSON value in one pass. The outer object or array is level 1 of `maxDepth`. */
export const extentOf = (value: unknown, maxDepth: number): JsonExtent => {
  const extent = { bytesAtMost: 0, tooDeep: false, outOfRange: false }
  add(extent, value, maxDepth)
  return extent
}

const add = (extent: JsonExtent, value: unknown, levels: number): void => {
  if (typeof value === 'string') {
    extent.bytesAtMost += QUOTES_BYTES + UNIT_BYTES * value.length
    return
  }
  extent.bytesAtMost += NUMBER_BYTES
  if (typeof value === 'number') {
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
    for (const child of value) add(extent, child, levels - 1)
    return
  }
  // Parsed JSON has no enumerable inherited members, and `for in` avoids an array per object.
  for (const key in value) {
    extent.bytesAtMost += QUOTES_BYTES + UNIT_BYTES * key.length + 2 * SEPARATOR_BYTES
    add(extent, (value as Record<string, unknown>)[key], levels - 1)
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

// A number out of the range of a double has an exponent of three digits, or very many digits.
const SUSPECT_NUMBER = /\d{200}|\de\+?\d{3}/i

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
