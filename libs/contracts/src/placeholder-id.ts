/**
 * Values that clients send instead of an id that they do not have: what languages print for no value, names for a person
 * who is not known, and the name of the field itself. They would merge unrelated people. Without the characters of `AROUND`.
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
  'not logged in',
  'logged out',
  'not provided',
  'unidentified',
  'anonymous user',
  'guest user',
  'no user',
  'void 0',
  'n.a.',
  'optional.empty',
  'optional(nil',
  'user_id',
  'userid',
  'visitor_id',
  'visitorid',
  'anonymous_id',
  'anonymousid',
  'distinct_id',
  'distinctid',
  '00000000-0000-0000-0000-000000000000',
  '00000000000000000000000000000000',
] as const

const MAX_LENGTH = 64
/** Most ids: plain characters and a digit other than 0, which no placeholder of plain characters has. */
const ORDINARY = /^[a-z0_.@+-]*[1-9][\w.@+-]*$/i
/** White space, invisible characters, quotes, brackets and what ends a sentence, as in `(null)`, `<nil>` and `null;`. */
const AROUND =
  /^[\s\p{Cc}\p{Cf}\p{Pi}\p{Pf}\ufffd"'`‚„()<>[\]{}]+|[\s\p{Cc}\p{Cf}\p{Pi}\p{Pf}\ufffd"'`‚„()<>[\]{}.,;:!]+$/gu
/** Words in brackets that are names without them, variables of templates that were not filled in, and what JavaScript and Go print for other values than text. */
const UNFILLED =
  /^(?:[(<[](?:blank|empty|missing|unset|void)[)>\]]|\{\{.*\}\}|[$#]\{.*\}|\$[A-Z][A-Z_]+|:[a-z]\w*|<%.*%>|\*\|.*\|\*|%%?\w+%%?|\[(?:object |function: ?)\w+\]|function\b.*\{.*\}|symbol\(.*\)|promise \{.*\}|%!\w\(.*\))$/isu
const ONLY_PUNCTUATION = /^[\p{P}\s]*$/u
/** One of the values several times, as of `${id}${id}`. */
const REPEATED = /^(?:undefined|null|none|nan)+$/
/** The type that a database adds. */
const CAST = /::\w+$/
/** What joins the parts of an id, as in `undefined-undefined`. */
const JOINTS = /[\s_.:;,|/-]+/
const SEPARATORS = /[\s_.-]+/g
const BEYOND_ASCII = /[^ -~]/

/** The keyword of schemas for an id: it must not be a placeholder. */
export const PLACEHOLDER_KEYWORD = 'x-no-placeholder'

/** Case, and what separates words, do not matter. */
const fold = (text: string): string => text.toLowerCase().replace(SEPARATORS, ' ').trim()

const KNOWN: ReadonlySet<string> = new Set(PLACEHOLDER_IDS.map(fold))

/**
 * Whether an id is a placeholder for one that is missing. Case, width, white space, quotes, brackets and the encoding of
 * URLs do not matter.
 */
export const isPlaceholderId = (id: string): boolean => {
  const trimmed = id.trim()
  // The checks below would take much of the time of a large request.
  if (trimmed.length > MAX_LENGTH || ORDINARY.test(trimmed)) return false
  const decoded = trimmed.includes('%') ? decode(trimmed) : trimmed
  const text = BEYOND_ASCII.test(decoded) ? decoded.normalize('NFKC') : decoded
  const bare = text.replace(AROUND, '').replace(CAST, '')
  return ONLY_PUNCTUATION.test(bare) || isKnown(bare) || UNFILLED.test(text)
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text).trim()
  } catch {
    return text
  }
}

const isKnown = (text: string): boolean => {
  const folded = fold(text)
  return KNOWN.has(folded) || REPEATED.test(folded) || folded.split(JOINTS).every((part) => KNOWN.has(part))
}
