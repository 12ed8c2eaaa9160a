/**
 * Values that clients send instead of an id that they do not have: what languages print for no value, and names for a
 * person who is not known. They would merge unrelated people. Lower case, without the characters of `AROUND`.
 */
export const PLACEHOLDER_IDS = [
  'undefined',
  'null',
  'none',
  'nil',
  'nan',
  'undef',
  'nullptr',
  'nilclass',
  'object object',
  'object undefined',
  'object null',
  'n/a',
  '#n/a',
  '\\n',
  'not set',
  'not_set',
  'anonymous',
  'guest',
  'unknown',
  'not_authenticated',
  '00000000-0000-0000-0000-000000000000',
  '00000000000000000000000000000000',
] as const

const KNOWN: ReadonlySet<string> = new Set(PLACEHOLDER_IDS)
const MAX_LENGTH = 64
/** White space, invisible characters, quotes and brackets, as in `(null)`, `<nil>` and `[object Object]`. */
const AROUND = /^[\s\p{Cf}\p{Pi}\p{Pf}"'`‚„()<>[\]{}]+|[\s\p{Cf}\p{Pi}\p{Pf}"'`‚„()<>[\]{}]+$/gu
/** Variables of templates that were not filled in, and what JavaScript and Go print for other values than text. */
const UNFILLED = /^(?:\{\{.*\}\}|[$#]\{.*\}|<%.*%>|\*\|.*\|\*|%%?\w+%%?|\[object \w+\]|%!\w\(.*\))$/su
const ONLY_PUNCTUATION = /^[\p{P}\s]*$/u
const BEYOND_ASCII = /[^ -~]/

/** The keyword of schemas for an id: it must not be a placeholder. */
export const PLACEHOLDER_KEYWORD = 'x-no-placeholder'

/**
 * Whether an id is a placeholder for one that is missing. Case, width, white space, quotes and brackets do not matter.
 */
export const isPlaceholderId = (id: string): boolean => {
  const trimmed = id.trim()
  if (trimmed.length > MAX_LENGTH) return false
  const text = BEYOND_ASCII.test(trimmed) ? trimmed.normalize('NFKC') : trimmed
  const bare = text.replace(AROUND, '')
  return ONLY_PUNCTUATION.test(bare) || KNOWN.has(bare.toLowerCase()) || UNFILLED.test(text)
}
