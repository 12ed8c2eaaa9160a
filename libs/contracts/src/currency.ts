import * as currencies from 'dinero.js/currencies'

// ISO 4217 counts minor units in decimals, also where a unit has five subunits (MGA and MRU).
const digitsOf = ({ base, exponent }: { base: number | readonly number[]; exponent: number }) =>
  base === 10 ? exponent : DEFAULT_DIGITS

// Not `Intl`, which depends on the build of Node.js, includes withdrawn codes, lacks funds codes, and has the decimals of
// CLDR: none for HUF and some sixteen others, whose minor units ISO 4217 defines.
const DEFAULT_DIGITS = 2
const DIGITS: ReadonlyMap<string, number> = new Map(
  Object.values(currencies).map((currency) => [currency.code, digitsOf(currency)]),
)

/**
 * Normalizes a current currency code of ISO 4217 to upper case. Undefined for other text, such as the withdrawn `DEM`.
 */
export const currencyOf = (text: string): string | undefined => {
  // Converting to upper case may turn letters beyond ASCII, such as a dotless i, into ASCII ones.
  if (!THREE_LETTERS.test(text)) return undefined
  const code = text.toUpperCase()
  return DIGITS.has(code) ? code : undefined
}

/**
 * The number of decimals of a currency's minor unit by ISO 4217: 2 for EUR and HUF, 0 for JPY, 3 for KWD, 4 for CLF. Text
 * that is no current code, such as the withdrawn `DEM`, has 2.
 */
export const minorUnitDigits = (currency: string): number =>
  DIGITS.get(currencyOf(currency) ?? '') ?? DEFAULT_DIGITS

/** The description of currencies in the API documentation. */
export const CURRENCY_DESCRIPTION = 'A code of ISO 4217. Lower case is taken too, and kept as upper case.'

const THREE_LETTERS = /^[A-Za-z]{3}$/
