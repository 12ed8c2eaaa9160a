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
