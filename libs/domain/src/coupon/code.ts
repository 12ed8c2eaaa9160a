const MAX_CODE_LENGTH = 64

const SEPARATORS = /[\s\p{Pd}]+/gu
const USABLE = /^[0-9A-Z_.]{3,64}$/
const GROUP_LENGTH = 4

/**
 * Normalizes a code for comparison: upper case, without spaces and dashes of any kind. `undefined` unless it then has 3 to
 * 64 letters A to Z, digits, `_` and `.`.
 */
export const normalizeCode = (text: string): string | undefined => {
  // Truncated first, because clients may send long text.
  if (text.length > 4 * MAX_CODE_LENGTH) return undefined
  const code = text.normalize('NFKC').replace(SEPARATORS, '').toUpperCase()
  return USABLE.test(code) ? code : undefined
}

/** Normalizes a prefix of codes, which may be empty. `undefined` when no code can start with it. */
export const normalizeCodePrefix = (text: string): string | undefined => {
  const prefix = text.normalize('NFKC').replace(SEPARATORS, '').toUpperCase()
  return /^[0-9A-Z_.]{0,64}$/.test(prefix) ? prefix : undefined
}

/** The display form of a generated code: the prefix and groups of four characters, joined by dashes. */
export const formatCode = (code: string, prefix: string): string => {
  const groups = code.slice(normalizeCodePrefix(prefix)?.length ?? 0).match(/.{1,4}/g) ?? []
  const last = groups.at(-1)
  // A single character at the end belongs to the last group.
  if (groups.length > 1 && last !== undefined && last.length < GROUP_LENGTH / 2)
    groups.splice(-2, 2, groups.slice(-2).join(''))
  return [prefix, ...groups].filter((part) => part !== '').join('-')
}

/** The display form of a coupon's code. */
export const displayCode = (coupon: { code: string; display: string | null }, prefix: string): string =>
  coupon.display ?? formatCode(coupon.code, prefix)
