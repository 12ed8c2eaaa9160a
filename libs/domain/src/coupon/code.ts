/** Characters of a coupon code without dashes, at the least and at most. */
export const MIN_CODE_LENGTH = 3
export const MAX_CODE_LENGTH = 64

const SEPARATORS = /[\s\p{Pd}]+/gu
const USABLE = /^[0-9A-Z_.]{3,64}$/
const GROUP_LENGTH = 4

/**
 * A code as it is compared: upper case, without spaces and any kind of dash, which phones and word processors like to
 * put in. `undefined` when no coupon can have it: 3 to 64 letters A to Z, digits, `_` and `.` are left otherwise.
 */
export const normalizeCode = (text: string): string | undefined => {
  // Cut first: what a client sends may be long, and no code is.
  if (text.length > 4 * MAX_CODE_LENGTH) return undefined
  const code = text.normalize('NFKC').replace(SEPARATORS, '').toUpperCase()
  return USABLE.test(code) ? code : undefined
}

/** A normalized prefix of a code, possibly empty; `undefined` when no code begins with it. */
export const normalizeCodePrefix = (text: string): string | undefined => {
  const prefix = text.normalize('NFKC').replace(SEPARATORS, '').toUpperCase()
  return /^[0-9A-Z_.]{0,64}$/.test(prefix) ? prefix : undefined
}

/** A generated code as people read it: its pool's prefix and groups of four, joined by dashes. */
export const formatCode = (code: string, prefix: string): string => {
  const groups = code.slice(normalizeCodePrefix(prefix)?.length ?? 0).match(/.{1,4}/g) ?? []
  const last = groups.at(-1)
  // A single character at the end, such as a check character, is not left standing alone.
  if (groups.length > 1 && last !== undefined && last.length < GROUP_LENGTH / 2)
    groups.splice(-2, 2, groups.slice(-2).join(''))
  return [prefix, ...groups].filter((part) => part !== '').join('-')
}

/** A coupon's code as people read it. */
export const displayCode = (coupon: { code: string; display: string | null }, prefix: string): string =>
  coupon.display ?? formatCode(coupon.code, prefix)
