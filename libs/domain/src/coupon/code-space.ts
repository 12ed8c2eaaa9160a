import { AppError } from '@waymark/contracts'

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

/**
 * An alphabet as codes use it: in upper case.
 * @throws AppError unprocessable when it is not an even number of different letters and digits
 */
export const requireUsableAlphabet = (text: string): string => {
  const alphabet = text.toUpperCase()
  if (!/^[0-9A-Z]+$/.test(alphabet))
    throw unusable('alphabet', 'characters', 'must be letters A to Z and digits')
  if (new Set(alphabet).size < alphabet.length)
    throw unusable('alphabet', 'unique', 'names a character twice (case does not count)')
  if (alphabet.length % 2 === 1)
    throw unusable('alphabet', 'even', 'must have an even number of characters, for the check character')
  return alphabet
}

/**
 * Checks that codes of a space cannot be guessed, by themselves and with `size` of them to hit.
 * @throws AppError unprocessable with the bits that there are and that there should be
 */
export const requireUnguessable = (space: CodeSpace, size: number): void => {
  const needed = Math.max(MIN_RANDOM_BITS, MIN_BITS_PER_CODE + Math.log2(Math.max(size, 1)))
  const bits = randomBitsOf(space)
  if (bits >= needed) return
  const [has, wants] = [floorToTenth(bits), Math.ceil(needed * 10) / 10]
  const length = 1 + Math.ceil(needed / Math.log2(space.alphabet.length))
  throw unusable(
    'length',
    'random_bits',
    `leaves ${has} random bits in a code of ${space.length} from ${space.alphabet.length} characters, the last of ` +
      `which only checks the others; ${size} codes need ${wants} bits, so a length of ${length}`,
    { expected: wants, actual: has },
  )
}

const floorToTenth = (bits: number): number => Math.floor(bits * 10) / 10

const unusable = (field: string, rule: string, message: string, figures: object = {}): AppError =>
  new AppError('unprocessable', 'The request is not valid', {
    errors: [{ field, rule, ...figures, message }],
  })
