/**
 * The first `length` characters of a JSON value's text, without a broken character at the end. Of the value no more is
 * written than that takes, whatever its size and depth.
 */
export const jsonStart = (value: unknown, length: number): string =>
  write(value, length).slice(0, length).toWellFormed()

/** The text of a value, which may end anywhere beyond `length` characters. */
const write = (value: unknown, length: number): string => {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, length))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  let text = Array.isArray(value) ? '[' : '{'
  const startsWith = text
  for (const name in value) {
    if (text.length > length) return text
    if (text !== startsWith) text += ','
    if (!Array.isArray(value)) text += `${write(name, length)}:`
    text += write((value as Record<string, unknown>)[name], Math.max(0, length - text.length))
  }
  return text + (Array.isArray(value) ? ']' : '}')
}
