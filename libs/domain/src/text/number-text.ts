/** A number for people: four significant digits below 1,000, and all of those before the decimal point above. */
export const numberText = (value: number): string =>
  value.toLocaleString('en-US', { maximumSignificantDigits: Math.abs(value) < 1_000 ? 4 : 15 })

/** A change with its sign and one decimal. */
export const signedText = (value: number): string => `${value > 0 ? '+' : ''}${value.toFixed(1)}`
