const WEEK_S = 7 * 86_400

/** The range of the horizontal axis: all values, or a single one in the middle. Times are seconds. */
export const xRange = (low: number, high: number, isTime: boolean): [number, number] => {
  if (low !== high) return [low, high]
  const margin = isTime ? WEEK_S : 1
  return [low - margin, high + margin]
}
