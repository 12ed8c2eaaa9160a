// Numbers in JSON that a double does not hold, such as ids of 64 bits.

/** Text that may contain such a number: 16 digits and more, which may have a point among them, or a tiny fraction. */
const SUSPECT_NUMBER = /[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+e-\d{3})/i

/** The source text of numbers that lost digits, by the object or array that contains them. */
const lostDigits = new WeakMap<object, Map<string, string>>()

// The third parameter is missing in browsers that do not know the source text, and in the types of TypeScript.
function noteLostDigits(this: object, key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || isHeld(source, value)) return value
  noteSource(this, key, source)
  return value
}

const noteSource = (container: object, key: string, source: string): void => {
  const known = lostDigits.get(container) ?? new Map<string, string>()
  lostDigits.set(container, known.set(key, source))
}

/**
 * Parses JSON text. The source text of numbers that a double does not hold can be read by `numberSource`.
 * @throws SyntaxError when the text is not JSON
 */
export const parseNumbers = (text: string): unknown => {
  if (!SUSPECT_NUMBER.test(text)) return JSON.parse(text)
  try {
    return JSON.parse(text, noteLostDigits)
  } catch (error) {
    // Calling a function for each value needs a deeper stack than parsing alone.
    if (error instanceof RangeError) return JSON.parse(text)
    throw error
  }
}

/** The source text of a number in parsed JSON, if it has more digits than a double holds. */
export const numberSource = (container: object, key: string): string | undefined =>
  lostDigits.get(container)?.get(key)

/** The source text of the number at a JSON pointer in parsed JSON, if it has more digits than a double holds. */
export const numberSourceAt = (root: unknown, pointer: string): string | undefined => {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = keys.pop()
  let container = root
  for (const key of keys) container = Object(container)[key]
  return last === undefined || typeof container !== 'object' || container === null
    ? undefined
    : numberSource(container, last)
}

/** Copies the members of a parsed object over those of another one, with the source text of its numbers. */
export const mergeMembers = (
  into: Record<string, unknown>,
  from: Record<string, unknown>,
): Record<string, unknown> => {
  const merged = { ...into, ...from }
  for (const members of [into, from])
    for (const [key, source] of lostDigits.get(members) ?? [])
      if (merged[key] === members[key]) noteSource(merged, key, source)
  return merged
}

/** A parsed object without a member, with the source text of its other numbers. */
export const withoutMember = (from: object, name: string): Record<string, unknown> => {
  const { [name]: _left, ...rest } = from as Record<string, unknown>
  for (const [key, source] of lostDigits.get(from) ?? []) if (key !== name) noteSource(rest, key, source)
  return rest
}

/** Appends the items of a parsed list to another one, with the source text of its numbers. */
export const appendItems = (into: unknown[], from: readonly unknown[]): void => {
  for (const [key, source] of lostDigits.get(from) ?? [])
    noteSource(into, `${into.length + Number(key)}`, source)
  for (const item of from) into.push(item)
}

const DECIMAL = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i

/** A decimal number without its sign and without zeros around its digits, so that equal numbers are equal text. */
const plainDecimal = (text: string): string => {
  const [, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? []
  const digits = whole + fraction
  let start = 0
  while (digits[start] === '0') start++
  let end = digits.length
  while (end > start && digits[end - 1] === '0') end--
  if (start === end) return '0'
  return `${digits.slice(start, end)}e${Number(exponent) + digits.length - end - fraction.length}`
}

const isHeld = (source: string, value: number): boolean => {
  const text = String(value)
  return source === text || plainDecimal(source) === plainDecimal(text)
}

const INTEGER = /^-?\d+$/

/**
 * Replaces integers that lost digits by their source text. Such an integer is an id, which no number must replace.
 * Returns the same value when it has none.
 */
export const withIntegersAsText = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null) return value
  const known = lostDigits.get(value)
  const replaced = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const source = known?.get(key)
    if (source !== undefined && INTEGER.test(source)) return [[key, source]]
    const kept: unknown = withIntegersAsText(member)
    return kept === member ? [] : [[key, kept]]
  })
  if (replaced.length === 0) return value
  if (Array.isArray(value)) return Object.assign([...value], Object.fromEntries(replaced)) as T
  return { ...value, ...Object.fromEntries(replaced) }
}

/** A number that lost digits, and where it is, such as `order.total`. */
export type LostDigits = { path: string; source: string; value: number }

/** The numbers in parsed JSON that lost digits, at most `limit` of them. */
export const numbersThatLostDigits = (value: unknown, limit: number): LostDigits[] => {
  const found: LostDigits[] = []
  const search = (current: unknown, path: string): void => {
    if (typeof current !== 'object' || current === null) return
    const known = lostDigits.get(current)
    for (const [key, member] of Object.entries(current)) {
      if (found.length === limit) return
      const at = path === '' ? key : `${path}.${key}`
      const source = known?.get(key)
      if (source !== undefined && typeof member === 'number') found.push({ path: at, source, value: member })
      else search(member, at)
    }
  }
  search(value, '')
  return found
}
