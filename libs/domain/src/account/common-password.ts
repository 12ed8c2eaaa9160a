/**
 * Whether a password is easy to guess: it is listed, or a repeated listed one, or consists at least half of a listed one
 * with digits and signs around it. Case-insensitive. `listed` checks common passwords in lower case.
 */
export const isCommonPassword = (password: string, listed: { has(text: string): boolean }): boolean => {
  const text = password.toLowerCase()
  const core = text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
  return (
    listed.has(text) || isListedRepeated(text, listed) || (core.length * 2 >= text.length && listed.has(core))
  )
}

const isListedRepeated = (text: string, listed: { has(text: string): boolean }): boolean => {
  // A repeated part is found in the doubled text, at an offset of its length.
  const period = `${text}${text}`.indexOf(text, 1)
  return period < text.length && (period <= 2 || listed.has(text.slice(0, period)))
}
