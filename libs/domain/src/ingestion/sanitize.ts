const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i
const NUL = /\0/g

/**
 * Parses JSON text and replaces what PostgreSQL and UTF-8 cannot hold, U+0000 and lone surrogates, by U+FFFD.
 * Both can only enter through `\u` escapes, so text without a suspect one is not walked again.
 * @throws SyntaxError when the text is not JSON
 */
export const parseJson = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  // Looking for a fixed text first is many times faster.
  return text.includes('\\u') && SUSPECT_ESCAPE.test(text) ? sanitize(value) : value
}

const sanitizeString = (text: string): string => text.toWellFormed().replace(NUL, '\uFFFD')

const sanitize = (value: unknown): unknown => {
  if (typeof value === 'string') return sanitizeString(value)
  if (typeof value !== 'object' || value === null) return value
  // A stack of our own: the body may be nested deeper than the call stack goes.
  const pending: object[] = [value]
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    for (const [key, child] of Object.entries(current)) {
      const cleanKey = sanitizeString(key)
      const cleanChild = typeof child === 'string' ? sanitizeString(child) : child
      if (typeof child === 'object' && child !== null) pending.push(child)
      if (cleanKey === key && cleanChild === child) continue
      if (cleanKey !== key) Reflect.deleteProperty(current, key)
      // Not an assignment: that would set the prototype when the key is `__proto__`.
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
