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
export const nextProduct = (product: number, value: number, n: number): number =>
  (((product + value) % n || n) * 2) % (n + 1)

/** The value of the check character after the last step. */
export const checkValueOf = (product: number, n: number): number => (n + 1 - product) % n
