import { randomInt } from 'node:crypto'
import { englishDataset, englishRecommendedTransformers, RegExpMatcher } from 'obscenity'

// Without the ambiguous characters 0 O o and 1 I i L l.
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ'
const GENERATED_LENGTH = 7

/** The format of generated and chosen codes. */
export const LINK_CODE = /^[A-Za-z0-9_-]{3,64}$/

// A dot, a bracket or an ellipsis of the sentence around a link, white space and invisible characters, which programs take
// for a part of it. No code has them.
const AROUND_A_LINK = /^[^\w%-]+|[^\w%-]+$/g

/** No code with what programs add to it is longer, and the time of the pattern grows with the square of the length. */
const MAX_VISITED_LENGTH = 200

/** The code in the path of a visitor, without what programs add to a link in a text. */
export const visitedCode = (text: string): string =>
  text.length > MAX_VISITED_LENGTH ? text : text.replace(AROUND_A_LINK, '')

// Paths that the service or a proxy may need, and names that do not look like links.
const RESERVED = new Set([
  'admin',
  'api',
  'app',
  'assets',
  'auth',
  'bulk',
  'docs',
  'favicon',
  'health',
  'healthz',
  'internal',
  'link',
  'links',
  'login',
  'logout',
  'metrics',
  'null',
  'ofrep',
  'openapi',
  'readyz',
  'register',
  'robots',
  'settings',
  'signin',
  'signup',
  'static',
  'stats',
  'status',
  'undefined',
  'well-known',
  'www',
])

// Created on first use, because that takes a tenth of a second, and most processes check no codes.
let offensive: RegExpMatcher | undefined
const matcher = (): RegExpMatcher => {
  offensive ??= new RegExpMatcher({ ...englishDataset.build(), ...englishRecommendedTransformers })
  return offensive
}

/** Words that are part of no harmless word. */
const NEVER_HARMLESS = new Set(['fuck', 'nigger', 'motherfucker'])
const MATCHED_WITH_ENDING = /^s?$/i

/**
 * Whether a chosen code has an offensive word: a whole one between dashes and underscores, so that `cumin` and `dickinson`
 * are allowed. Digits alone are not read as letters.
 */
const isOffensive = (code: string): boolean =>
  code
    .split(/[-_]/)
    .filter((word) => /[a-z]/i.test(word))
    .some((word) =>
      matcher()
        .getAllMatches(word)
        .some((match) => {
          const { phraseMetadata } = englishDataset.getPayloadWithPhraseMetadata(match)
          if (NEVER_HARMLESS.has(phraseMetadata?.originalWord ?? '')) return true
          return match.startIndex === 0 && MATCHED_WITH_ENDING.test(word.slice(match.endIndex + 1))
        }),
    )

/** Why a chosen code is invalid, or `undefined` when it is valid. */
export const codeProblem = (code: string): { rule: string; message: string } | undefined => {
  if (!LINK_CODE.test(code))
    return { rule: 'pattern', message: 'must be 3 to 64 letters, digits, `_` or `-`' }
  if (!/[A-Za-z0-9]/.test(code)) return { rule: 'pattern', message: 'must have a letter or digit' }
  if (RESERVED.has(code.toLowerCase())) return { rule: 'reserved', message: 'is reserved' }
  if (isOffensive(code)) return { rule: 'offensive', message: 'contains an offensive word' }
  return undefined
}

/**
 * A random code of 7 characters (54⁷ ≈ 1.3 × 10¹² codes), without ambiguous characters and offensive words. It may exist
 * already; then generate another one.
 */
export const generateCode = (): string => {
  for (;;) {
    let code = ''
    for (let index = 0; index < GENERATED_LENGTH; index++) code += ALPHABET[randomInt(ALPHABET.length)]
    // Stricter than for chosen codes, because no person chose this one.
    if (!RESERVED.has(code.toLowerCase()) && !matcher().hasMatch(code)) return code
  }
}
