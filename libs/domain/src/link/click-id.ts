import { randomBytes, randomInt } from 'node:crypto'

const CLICK_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const TAG_LENGTH = 12
const COUNTER_BITS = 12
const RANDOM_BITS = 14
/** In the ids of clicks on a link with variants, the first of the random bits are the number of the variant. */
const VARIANT_BITS = 5
const VARIANT_SHIFT = RANDOM_BITS - VARIANT_BITS

/** The tag at the end of a link's click ids: the last 48 bits of the link id. Unique in a project. */
export const clickTagOf = (linkId: string): string => linkId.slice(-TAG_LENGTH)

/** Normalizes a click id. `null` when the text is not a click id. */
export const parseClickId = (text: unknown): string | null => {
  if (typeof text !== 'string' || text.length !== 36) return null
  const id = text.toLowerCase()
  return CLICK_ID.test(id) ? id : null
}

/** The time of a click in its id, in ms since the epoch. */
export const clickTimeOf = (clickId: string): number =>
  Number.parseInt(clickId.slice(0, 8) + clickId.slice(9, 13), 16)

/** The number of the variant in the id of a click on a link with variants. 0 without one. */
export const variantNumberOf = (clickId: string): number =>
  (Number.parseInt(clickId.slice(19, 23), 16) & ((1 << RANDOM_BITS) - 1)) >> VARIANT_SHIFT

/**
 * Generates ids of clicks: UUIDv7 (RFC 9562) that end with the link's tag, so that an event can be attributed before its
 * click is stored. The other 26 bits are a counter of 12 bits, for up to 4,096 clicks on a link per millisecond and
 * process, and 14 random bits. For a link with variants, `variantNumber` (0 to 31) replaces 5 of the random bits.
 */
export const createClickIds = () => {
  let counter = randomInt(1 << COUNTER_BITS)
  let random = randomBytes(2 * 1_024)
  let used = 0
  let lastMs = Number.NaN
  let head = ''
  return (linkId: string, atMs: number, variantNumber?: number): string => {
    if (used === random.length) {
      random = randomBytes(random.length)
      used = 0
    }
    counter = (counter + 1) & ((1 << COUNTER_BITS) - 1)
    const own = random.readUInt16BE(used)
    const bits =
      variantNumber === undefined
        ? 0x8000 | (own & ((1 << RANDOM_BITS) - 1))
        : 0x8000 | (variantNumber << VARIANT_SHIFT) | (own & ((1 << VARIANT_SHIFT) - 1))
    used += 2
    if (atMs !== lastMs) {
      const time = hex(atMs, 12)
      head = `${time.slice(0, 8)}-${time.slice(8)}-7`
      lastMs = atMs
    }
    return `${head}${hex(counter, 3)}-${bits.toString(16)}-${clickTagOf(linkId)}`
  }
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')
