import type { ValidationItem } from '@waymark/contracts'

/** Unambiguous letters and digits: no I, L, O, U, 0 and 1. */
export const DEFAULT_ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789'
/** Length of a generated code without its prefix, including the check character. */
export const DEFAULT_CODE_LENGTH = 16
/** Minimum random bits of a code. */
const MIN_RANDOM_BITS = 60
/** Minimum random bits beyond those of the pool's size: the probability of a correct guess is at most 2^-n. */
const MIN_BITS_PER_CODE = 36

/** The set of possible codes. */
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
