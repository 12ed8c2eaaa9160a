// A number that JSON can write and a double cannot hold has an exponent of three digits, or that many digits and two.
const SUSPECT_NUMBER = /\d{200}|\de\+?\d{3}/i

/** Whether a JSON value holds a number that no double can: `JSON.parse` makes it infinite, and writing it again null. */
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

/** The same of a value and the text that it was parsed from, which nearly always tells at a glance that there is none. */
export const holdsNumberOutOfRange = (text: string, value: unknown): boolean =>
  SUSPECT_NUMBER.test(text) && holdsInfinity(value)
