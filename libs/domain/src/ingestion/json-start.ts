/**
 * The first `length` characters of the JSON of a value, without half a surrogate pair at the end. It serializes only as
 * much as needed.
 */
export const jsonStart = (value: unknown, length: number): string =>
  write(value, length).slice(0, length).toWellFormed()

/** The JSON of a value, which may be truncated after `length` characters. */
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
