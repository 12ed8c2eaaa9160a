import * as currencies from 'dinero.js/currencies'

// Not `Intl.supportedValuesOf`: that list depends on the build of Node, keeps withdrawn codes and lacks funds codes.
const CODES: ReadonlySet<string> = new Set(Object.keys(currencies))

/**
 * The code in upper case of a currency that ISO 4217 lists today, undefined for other texts: of `EUR` and `eur` it is
 * `EUR`, of `DEM` undefined.
 */
export const currencyOf = (text: string): string | undefined => {
  // Upper case turns letters beyond ASCII, such as a dotless i, into others.
  if (!THREE_LETTERS.test(text)) return undefined
  const code = text.toUpperCase()
  return CODES.has(code) ? code : undefined
}

/** How every request takes a currency, for the API's documentation. */
export const CURRENCY_DESCRIPTION = 'A code of ISO 4217. Lower case is taken too, and kept as upper case.'

const THREE_LETTERS = /^[A-Za-z]{3}$/
