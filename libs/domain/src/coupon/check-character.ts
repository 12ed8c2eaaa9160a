/**
 * The character that makes `text` checkable, by a hybrid system of ISO/IEC 7064 (MOD n+1,n: the standard has MOD 11,10,
 * MOD 27,26 and MOD 37,36). Any wrong character in `text` or in the check character itself is found, and so are nearly
 * all swaps of neighbours. That needs an alphabet of an even number of characters, since 2 must have an inverse modulo
 * n + 1; `text` may hold no others.
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

/** One step of the system, which begins with the product `n`. */
export const nextProduct = (product: number, value: number, n: number): number =>
  (((product + value) % n || n) * 2) % (n + 1)

/** The value of the check character after the last step. */
export const checkValueOf = (product: number, n: number): number => (n + 1 - product) % n
