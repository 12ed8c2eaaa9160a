type Decimal = { digits: bigint; exponent: number }

/** The shortest decimal text of a finite number, as digits times a power of ten. */
const decimalOf = (value: number): Decimal => {
  const [mantissa = '', exponent = '0'] = `${value}`.split('e')
  const [whole, fraction = ''] = mantissa.split('.')
  return { digits: BigInt(`${whole}${fraction}`), exponent: Number(exponent) - fraction.length }
}

/**
 * Whether a number is a multiple of another one, in decimal arithmetic: 19.99 is a multiple of 0.01, although their
 * binary quotient is not an integer.
 */
export const isMultipleOf = (value: number, divisor: number): boolean => {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  if (!Number.isFinite(value)) return false
  const [a, b] = [decimalOf(value), decimalOf(divisor)]
  const exponent = Math.min(a.exponent, b.exponent)
  const scaled = (decimal: Decimal): bigint => decimal.digits * 10n ** BigInt(decimal.exponent - exponent)
  return scaled(a) % scaled(b) === 0n
}
