/** How far a JSON value goes: an upper bound of the bytes that it takes when it is written, and what is wrong with it. */
export type JsonExtent = {
  bytesAtMost: number
  /** Nested deeper than allowed; what lies below is not counted. */
  tooDeep: boolean
  /** Holds a number that no double can: `JSON.parse` makes it infinite, and writing it again null. */
  outOfRange: boolean
}

/** What a UTF-16 unit takes at the most, as a `\u` escape. */
const UNIT_BYTES = 6
/** What a double takes at the most, and more than `false` and `null` do. */
const NUMBER_BYTES = 25
const QUOTES_BYTES = 2
const SEPARATOR_BYTES = 1

/** Walks once through a JSON value; an object or array is one level of `maxDepth`, its members the next. */
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
  // What JSON made inherits nothing that is enumerable, and this spares an array for each object.
  for (const key in value) {
    extent.bytesAtMost += QUOTES_BYTES + UNIT_BYTES * key.length + 2 * SEPARATOR_BYTES
    add(extent, (value as Record<string, unknown>)[key], levels - 1)
  }
}
