/** Number of characters that count as one value, because patterns scan them. */
const CHARACTERS = 32

/** The number of values in a JSON value, including itself. Long strings and names count several times. Stops above `limit`. */
export const weightOf = (value: unknown, limit = Number.POSITIVE_INFINITY): number => {
  let weight = 0
  const pending: unknown[] = [value]
  while (pending.length > 0 && weight <= limit) {
    const current = pending.pop()
    weight += typeof current === 'string' ? 1 + current.length / CHARACTERS : 1
    if (Array.isArray(current)) for (const item of current) pending.push(item)
    else if (typeof current === 'object' && current !== null)
      for (const name in current) {
        weight += Math.floor(name.length / CHARACTERS)
        pending.push((current as Record<string, unknown>)[name])
      }
  }
  return weight
}

/** Whether a JSON value weighs more than `limit`. */
export const isHeavierThan = (value: unknown, limit: number): boolean => weightOf(value, limit) > limit
