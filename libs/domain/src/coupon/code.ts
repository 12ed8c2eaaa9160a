import { randomBytes } from 'node:crypto'
import type { ValidationItem } from '@waymark/contracts/http/track-result'

/** Unambiguous letters and digits: no I, L, O, U, 0 and 1. */
export const DEFAULT_ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789'
/** Length of a generated code without its prefix, including the check character. */
export const DEFAULT_CODE_LENGTH = 16
/** Minimum random bits of a code. */
const MIN_RANDOM_BITS = 60
/** Minimum random bits beyond those of the pool's size: the probability of a correct guess is at most 2^-n. */
const MIN_BITS_PER_CODE = 36

/** The possible codes of a pool. */
export type CodeSpace = { alphabet: string; length: number }

/** The random bits of a code without its check character. */
export const randomBitsOf = ({ alphabet, length }: CodeSpace): number =>
  (length - 1) * Math.log2(alphabet.length)

/** Why an upper-case alphabet is invalid: it needs an even number of distinct letters and digits. */
export const alphabetProblems = (alphabet: string): ValidationItem[] => {
  const problem = (rule: string, message: string): ValidationItem[] => [{ field: 'alphabet', rule, message }]
  if (!/^[0-9A-Z]+$/.test(alphabet)) return problem('characters', 'must be letters A to Z and digits')
  if (new Set(alphabet).size < alphabet.length)
    return problem('unique', 'names a character twice (case does not count)')
  if (alphabet.length % 2 === 1)
    return problem('even', 'must have an even number of characters, for the check character')
  return []
}

/** Whether the codes of a pool of `size` could be guessed, and the required bits. */
export const guessabilityProblems = (space: CodeSpace, size: number): ValidationItem[] => {
  const needed = Math.max(MIN_RANDOM_BITS, MIN_BITS_PER_CODE + Math.log2(Math.max(size, 1)))
  const bits = randomBitsOf(space)
  if (bits >= needed) return []
  const [has, wants] = [floorToTenth(bits), Math.ceil(needed * 10) / 10]
  const length = 1 + Math.ceil(needed / Math.log2(space.alphabet.length))
  const message =
    `leaves ${has} random bits in a code of ${space.length} from ${space.alphabet.length} characters, the last of ` +
    `which only checks the others; ${size} codes need ${wants} bits, so a length of ${length}`
  return [{ field: 'length', rule: 'random_bits', expected: wants, actual: has, message }]
}

const floorToTenth = (bits: number): number => Math.floor(bits * 10) / 10

/**
 * Generates normalized codes with the CSPRNG: the prefix, uniformly distributed characters (by rejection sampling) and the
 * check character. A code may occur twice.
 */
export const drawCodes = (
  { alphabet, length, prefix }: CodeSpace & { prefix: string },
  count: number,
): string[] => {
  const n = alphabet.length
  const beginning = normalizeCodePrefix(prefix) ?? ''
  const nextValue = equallyLikely(n, count * length)
  return Array.from({ length: count }, () => {
    let code = beginning
    let product = n
    for (let index = 1; index < length; index++) {
      const value = nextValue()
      code += alphabet.charAt(value)
      product = nextProduct(product, value, n)
    }
    return code + alphabet.charAt(checkValueOf(product, n))
  })
}

/** Uniform values below `n`, at most 256. `expected` is the approximate number of values. */
const equallyLikely = (n: number, expected: number): (() => number) => {
  const usable = 256 - (256 % n)
  let bytes = randomBytes(Math.ceil((expected * 256) / usable) + 16)
  let next = 0
  return () => {
    for (;;) {
      if (next === bytes.length) {
        bytes = randomBytes(256)
        next = 0
      }
      const byte = bytes[next++] ?? 0
      if (byte < usable) return byte % n
    }
  }
}

/**
 * The check character of `text` by the hybrid system MOD n+1,n of ISO/IEC 7064. It detects every wrong character and
 * nearly all swaps of neighbors. The alphabet must have an even number of characters, because 2 must have an inverse
 * modulo n + 1, and must include all characters of `text`.
 */
export const checkCharacterOf = (text: string, alphabet: string): string => {
  const n = alphabet.length
  let product = n
  for (const character of text) product = nextProduct(product, alphabet.indexOf(character), n)
  return alphabet.charAt(checkValueOf(product, n))
}

/** Whether the last character of `text` is the check character of those before it. */
export const hasCheckCharacter = (text: string, alphabet: string): boolean =>
  text.length > 1 &&
  [...text].every((character) => alphabet.includes(character)) &&
  checkCharacterOf(text.slice(0, -1), alphabet) === text.at(-1)

/** One step of the system. The initial product is `n`. */
const nextProduct = (product: number, value: number, n: number): number =>
  (((product + value) % n || n) * 2) % (n + 1)

/** The value of the check character after the last step. */
const checkValueOf = (product: number, n: number): number => (n + 1 - product) % n

const MAX_CODE_LENGTH = 64

// With characters that look like a dash or are blank, but are not so by their properties.
const DASHES = /[\p{Dash}\u02d7\u2043\u2500\u2501\u2796\u30fc]/u
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u
const BLANKS = /[\p{White_Space}\u2800]/u
/** Around a code that was copied with its quotation marks, or from Markdown. */
const QUOTES = /^[\p{Quotation_Mark}`]+|[\p{Quotation_Mark}`]+$/gu
const IGNORED = new RegExp([DASHES, INVISIBLE, BLANKS].map(({ source }) => source).join('|'), 'gu')
const USABLE = /^[0-9A-Z_.]{3,64}$/
const GROUP_LENGTH = 4

/** What is compared of a code or of a part of one, as it was typed, pasted or scanned. */
const comparable = (text: string): string =>
  text.normalize('NFKC').replace(IGNORED, '').replace(QUOTES, '').toUpperCase()

/**
 * Normalizes a code for comparison: upper case, without quotation marks around it, spaces, dashes of any kind and invisible
 * characters, such as bidi marks, soft hyphens and variation selectors. `undefined` unless it then has 3 to 64 letters A to Z, digits, `_` and `.`.
 */
export const normalizeCode = (text: string): string | undefined => {
  // Truncated first, because clients may send long text.
  if (text.length > 4 * MAX_CODE_LENGTH) return undefined
  const code = comparable(text)
  return USABLE.test(code) ? code : undefined
}

/** A code that a project has chosen: for comparison, and as it is shown, with plain dashes and spaces, without quotes. */
export const chosenCode = (text: string): { code: string; display: string } | undefined => {
  const code = normalizeCode(text)
  if (code === undefined) return undefined
  const display = text
    .normalize('NFKC')
    .replace(new RegExp(INVISIBLE, 'gu'), '')
    .replace(new RegExp(DASHES, 'gu'), '-')
    .replace(new RegExp(`(?:${BLANKS.source})+`, 'gu'), ' ')
  return { code, display: display.trim().replace(QUOTES, '').trim().toUpperCase() }
}

/** Normalizes a prefix of codes, which may be empty. `undefined` when no code can start with it. */
export const normalizeCodePrefix = (text: string): string | undefined => {
  const prefix = comparable(text)
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
