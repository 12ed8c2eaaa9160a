import type { ValidationItem } from '@waymark/contracts'

/** Letters and digits that nobody takes for another one: no I, L, O, U, 0 and 1. */
export const DEFAULT_ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789'
/** Characters of a generated code behind its prefix, the check character included. */
export const DEFAULT_CODE_LENGTH = 16
/** Random bits that a code has at the least: nobody guesses one of so many. */
export const MIN_RANDOM_BITS = 60
/** A guess must hit any code of a pool at most once in two to the power of this. */
export const MIN_BITS_PER_CODE = 36

/** What codes are drawn from. */
export type CodeSpace = { alphabet: string; length: number }

/** The random bits in a code; its check character has none. */
export const randomBitsOf = ({ alphabet, length }: CodeSpace): number =>
  (length - 1) * Math.log2(alphabet.length)

/** Why codes may not be drawn from an alphabet in upper case: it needs an even number of different letters and digits. */
export const alphabetProblems = (alphabet: string): ValidationItem[] => {
  const problem = (rule: string, message: string): ValidationItem[] => [{ field: 'alphabet', rule, message }]
  if (!/^[0-9A-Z]+$/.test(alphabet)) return problem('characters', 'must be letters A to Z and digits')
  if (new Set(alphabet).size < alphabet.length)
    return problem('unique', 'names a character twice (case does not count)')
  if (alphabet.length % 2 === 1)
    return problem('even', 'must have an even number of characters, for the check character')
  return []
}

/** Whether codes of a space could be guessed, by themselves or with `size` of them to hit, with the bits that it takes. */
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
