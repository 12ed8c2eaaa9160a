import * as currencies from 'dinero.js/currencies'

// Not `Intl.supportedValuesOf`, which depends on the build of Node.js, includes withdrawn codes and lacks funds codes.
const CODES: ReadonlySet<string> = new Set(Object.keys(currencies))

/**
 * Normalizes a current currency code of ISO 4217 to upper case. Undefined for other text, such as the withdrawn `DEM`.
 */
export const currencyOf = (text: string): string | undefined => {
  // Converting to upper case may turn letters beyond ASCII, such as a dotless i, into ASCII ones.
  if (!THREE_LETTERS.test(text)) return undefined
  const code = text.toUpperCase()
  return CODES.has(code) ? code : undefined
}

/** The description of currencies in the API documentation. */
export const CURRENCY_DESCRIPTION = 'A code of ISO 4217. Lower case is taken too, and kept as upper case.'

const THREE_LETTERS = /^[A-Za-z]{3}$/
