import { randomBytes } from 'node:crypto'
import { checkValueOf, nextProduct } from './check-character.ts'
import { normalizeCodePrefix } from './code.ts'
import type { CodeSpace } from './code-space.ts'

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
    for (let place = 1; place < length; place++) {
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
