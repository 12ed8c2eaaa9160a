import { randomBytes } from 'node:crypto'
import { checkValueOf, nextProduct } from './check-character.ts'
import { normalizeCodePrefix } from './code.ts'
import type { CodeSpace } from './code-space.ts'

/**
 * Draws codes from the CSPRNG, in the form in which they are compared: the prefix, characters that are equally likely
 * (bytes beyond a whole multiple of the alphabet are thrown away), the check character. One may be drawn twice.
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
    for (let place = 1; place < length; place++) {
      const value = nextValue()
      code += alphabet.charAt(value)
      product = nextProduct(product, value, n)
    }
    return code + alphabet.charAt(checkValueOf(product, n))
  })
}

/** Values below `n`, at most 256; `expected` is about how many will be asked for. */
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
