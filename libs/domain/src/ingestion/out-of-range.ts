// A number out of the range of a double has an exponent of three digits, or very many digits.
const SUSPECT_NUMBER = /\d{200}|\de\+?\d{3}/i

/** Whether a JSON value contains a number out of the range of a double, which `JSON.parse` turns into `Infinity`. */
export const holdsInfinity = (value: unknown): boolean => {
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const current = pending.pop()
    if (typeof current === 'number' && !Number.isFinite(current)) return true
    if (typeof current === 'object' && current !== null)
      for (const member of Object.values(current)) pending.push(member)
  }
  return false
}

/** Like `holdsInfinity`, but checks the source text first, which is much faster. */
export const holdsNumberOutOfRange = (text: string, value: unknown): boolean =>
  SUSPECT_NUMBER.test(text) && holdsInfinity(value)
