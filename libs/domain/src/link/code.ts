import { randomInt } from 'node:crypto'
import { englishDataset, englishRecommendedTransformers, RegExpMatcher } from 'obscenity'

// Without 0 O o, 1 I i L l, which people take for each other.
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ'
const GENERATED_LENGTH = 7

/** What a code may look like, generated or chosen. */
export const LINK_CODE = /^[A-Za-z0-9_-]{3,64}$/

// What the service or a proxy in front may want to answer itself, and what nobody would take for a link.
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

const offensive = new RegExpMatcher({ ...englishDataset.build(), ...englishRecommendedTransformers })

/** Why a code that somebody chose cannot be used, or `undefined` when it can. */
export const codeProblem = (code: string): { rule: string; message: string } | undefined => {
  if (!LINK_CODE.test(code))
    return { rule: 'pattern', message: 'must be 3 to 64 letters, digits, `_` or `-`' }
  if (!/[A-Za-z0-9]/.test(code)) return { rule: 'pattern', message: 'must have a letter or digit' }
  if (RESERVED.has(code.toLowerCase())) return { rule: 'reserved', message: 'is reserved' }
  if (offensive.hasMatch(code)) return { rule: 'offensive', message: 'may offend' }
  return undefined
}

/**
 * A random code of 7 characters, 54⁷ ≈ 1.3 × 10¹² of them, without characters that look alike and without words that
 * offend. It may be taken: try another one then.
 */
export const generateCode = (): string => {
  for (;;) {
    let code = ''
    for (let place = 0; place < GENERATED_LENGTH; place++) code += ALPHABET[randomInt(ALPHABET.length)]
    if (codeProblem(code) === undefined) return code
  }
}
