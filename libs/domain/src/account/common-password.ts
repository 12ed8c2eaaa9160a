/**
 * Whether a password is one that guessers try first: it is on the list, is a listed one repeated, or is a listed
 * one with digits and signs around it, as long as that is at least half of it. Case does not matter.
 * `listed` knows common passwords in lower case.
 */
export const isCommonPassword = (password: string, listed: { has(text: string): boolean }): boolean => {
  const text = password.toLowerCase()
  const core = text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
  return (
    listed.has(text) || isListedRepeated(text, listed) || (core.length * 2 >= text.length && listed.has(core))
  )
}

const isListedRepeated = (text: string, listed: { has(text: string): boolean }): boolean => {
  // A text that is a part repeated is found in itself doubled, that part's length from the start.
  const period = `${text}${text}`.indexOf(text, 1)
  return period < text.length && (period <= 2 || listed.has(text.slice(0, period)))
}
