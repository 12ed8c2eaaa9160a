/** Characters of a text that weigh as much as one value: patterns go through them. */
const CHARACTERS = 32

/** How many values a JSON value consists of, itself included; long texts count as several. Counting ends above `limit`. */
export const weightOf = (value: unknown, limit = Number.POSITIVE_INFINITY): number => {
  let weight = 0
  const pending: unknown[] = [value]
  while (pending.length > 0 && weight <= limit) {
    const current = pending.pop()
    weight += typeof current === 'string' ? 1 + current.length / CHARACTERS : 1
    if (typeof current === 'object' && current !== null)
      for (const member of Object.values(current)) pending.push(member)
  }
  return weight
}

/** Whether a JSON value weighs more than `limit`. */
export const isHeavierThan = (value: unknown, limit: number): boolean => weightOf(value, limit) > limit
