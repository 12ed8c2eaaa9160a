/**
 * The width of buckets (their beginnings in ms, in order) that are all equally long, such as days without a clock change.
 * `undefined` when they are not, or when the last one ends before `to`.
 */
export const uniformWidth = (buckets: readonly number[], to: number): number | undefined => {
  const [first, second] = buckets
  if (first === undefined) return undefined
  const width = second === undefined ? to - first : second - first
  const isUniform = buckets.every((at, index) => at === first + index * width)
  return width > 0 && isUniform && to <= first + buckets.length * width ? width : undefined
}
