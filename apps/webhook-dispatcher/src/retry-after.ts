const SECONDS = /^\d+$/
// The format that senders must use, RFC 9110 section 5.6.7. `Date.parse` takes much that is not a date.
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** The time in ms that a `Retry-After` asks to wait, from seconds or a date; 0 when it asks for none or is malformed. */
export const retryAfterMs = (header: string | undefined, now: number): number => {
  const text = header?.trim() ?? ''
  if (SECONDS.test(text)) return Number(text) * 1_000
  const at = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? 0 : Math.max(0, at - now)
}
