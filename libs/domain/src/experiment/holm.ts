/**
 * P-values adjusted for being several, so that the probability of any false positive among them stays within the error rate
 * (Holm 1979, "A simple sequentially rejective multiple test procedure"). Null stays null and does not count.
 */
export const adjustByHolm = (pValues: readonly (number | null)[]): (number | null)[] => {
  const ordered = pValues
    .flatMap((pValue, index) => (pValue === null ? [] : [{ pValue, index }]))
    .sort((a, b) => a.pValue - b.pValue)
  const adjusted: (number | null)[] = pValues.map(() => null)
  let least = 0
  for (const [rank, { pValue, index }] of ordered.entries()) {
    least = Math.max(least, Math.min(1, pValue * (ordered.length - rank)))
    adjusted[index] = least
  }
  return adjusted
}
