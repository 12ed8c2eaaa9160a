/** Whether a JSON value is nested deeper than `limit` levels; an object or array is one level, its members the next. */
export const isDeeperThan = (value: unknown, limit: number): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  for (const child of Object.values(value)) {
    if (isDeeperThan(child, limit - 1)) return true
  }
  return false
}
