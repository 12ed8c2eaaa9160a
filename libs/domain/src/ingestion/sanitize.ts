const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i
const NUL = /\0/g

/**
 * Parses JSON text and replaces U+0000 and lone surrogates, which PostgreSQL and UTF-8 cannot represent, by U+FFFD. Both
 * occur only as `\u` escapes, so other text needs no second pass.
 * @throws SyntaxError when the text is not JSON
 */
export const parseJson = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  // Searching for fixed text first is much faster.
  return text.includes('\\u') && SUSPECT_ESCAPE.test(text) ? sanitize(value) : value
}

const sanitizeString = (text: string): string => text.toWellFormed().replace(NUL, '\uFFFD')

const sanitize = (value: unknown): unknown => {
  if (typeof value === 'string') return sanitizeString(value)
  if (typeof value !== 'object' || value === null) return value
  // Not recursive, because the nesting may exceed the call stack.
  const pending: object[] = [value]
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    for (const [key, child] of Object.entries(current)) {
      const cleanKey = sanitizeString(key)
      const cleanChild = typeof child === 'string' ? sanitizeString(child) : child
      if (typeof child === 'object' && child !== null) pending.push(child)
      if (cleanKey === key && cleanChild === child) continue
      if (cleanKey !== key) Reflect.deleteProperty(current, key)
      // An assignment would set the prototype for the key `__proto__`.
      Object.defineProperty(current, cleanKey, {
        value: cleanChild,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
  }
  return value
}
