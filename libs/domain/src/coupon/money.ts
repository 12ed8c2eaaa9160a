/** A number as an exact fraction, not below 0. */
export type Ratio = { numerator: bigint; denominator: bigint }

/** Divides integers from 0 up, and rounds half to even. */
export const divideHalfEven = (dividend: bigint, divisor: bigint): bigint => {
  const quotient = dividend / divisor
  const twice = (dividend % divisor) * 2n
  return twice > divisor || (twice === divisor && quotient % 2n === 1n) ? quotient + 1n : quotient
}

/** A share of an amount in minor units, rounded half to even. */
export const shareOf = (amount: number, ratio: Ratio): number => sharesIn(ratio)(amount)

/** Computes shares of amounts in minor units, each rounded half to even. Exact; with numbers where they suffice. */
const sharesIn = ({ numerator, denominator }: Ratio): ((amount: number) => number) => {
  const [factor, divisor] = [Number(numerator), Number(denominator)]
  return (amount) => {
    const dividend = amount * factor
    if (dividend > Number.MAX_SAFE_INTEGER || divisor > Number.MAX_SAFE_INTEGER)
      return Number(divideHalfEven(BigInt(amount) * numerator, denominator))
    const rest = dividend % divisor
    const quotient = (dividend - rest) / divisor
    const isUp = rest > divisor - rest || (rest === divisor - rest && quotient % 2 === 1)
    return isUp ? quotient + 1 : quotient
  }
}

/** A percentage as an exact fraction of its shortest decimal form: 12.5 is 125/1000. */
export const percentRatio = (percent: number): Ratio => {
  const [digits = '0', exponent = '0'] = percent.toExponential().split('e')
  const [whole = '0', decimals = ''] = digits.split('.')
  const places = decimals.length - Number(exponent) + 2
  return {
    numerator: BigInt(whole + decimals) * 10n ** BigInt(Math.max(0, -places)),
    denominator: 10n ** BigInt(Math.max(0, places)),
  }
}

export const sumOf = (amounts: readonly number[]): number => amounts.reduce((sum, amount) => sum + amount, 0)

/**
 * Splits `total` over amounts: `ratio` of each, rounded half to even. What is left goes to the largest amount, as far as its
 * share stays between 0 and the amount, then to the next largest. Equal amounts: the first one. `total` is at most the sum.
 */
export const allocate = (total: number, amounts: readonly number[], ratio: Ratio): number[] => {
  const shares = amounts.map(sharesIn(ratio))
  let rest = total - sumOf(shares)
  if (rest === 0) return shares
  const largestFirst = amounts.map((amount, index) => ({ amount, index })).sort((a, b) => b.amount - a.amount)
  for (const { amount, index } of largestFirst) {
    if (rest === 0) break
    const share = shares[index] ?? 0
    const changed = Math.min(amount, Math.max(0, share + rest))
    rest -= changed - share
    shares[index] = changed
  }
  return shares
}

/** Splits `total` over amounts in proportion to them. `total` is at most their sum. */
export const allocateInProportion = (total: number, amounts: readonly number[]): number[] => {
  const sum = sumOf(amounts)
  if (sum === 0) return amounts.map(() => 0)
  return allocate(total, amounts, { numerator: BigInt(total), denominator: BigInt(sum) })
}
