/** Whether a JSON value is nested deeper than `limit` levels. The outer object or array is level 1. */
export const isDeeperThan = (value: unknown, limit: number): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  if (Array.isArray(value)) return value.some((child) => isDeeperThan(child, limit - 1))
  // Parsed JSON has no enumerable inherited members, and `for in` avoids an array per object.
  for (const key in value) if (isDeeperThan((value as Record<string, unknown>)[key], limit - 1)) return true
  return false
}
