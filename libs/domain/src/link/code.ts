import { randomInt } from 'node:crypto'
import { englishDataset, englishRecommendedTransformers, RegExpMatcher } from 'obscenity'

// Without the ambiguous characters 0 O o and 1 I i L l.
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ'
const GENERATED_LENGTH = 7

/** The format of generated and chosen codes. */
export const LINK_CODE = /^[A-Za-z0-9_-]{3,64}$/

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
const isOffensive = (code: string): boolean => {
  offensive ??= new RegExpMatcher({ ...englishDataset.build(), ...englishRecommendedTransformers })
  return offensive.hasMatch(code)
}

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
    for (let place = 0; place < GENERATED_LENGTH; place++) code += ALPHABET[randomInt(ALPHABET.length)]
    if (codeProblem(code) === undefined) return code
  }
}
