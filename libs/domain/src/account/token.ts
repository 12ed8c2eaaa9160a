import { createHash, randomBytes } from 'node:crypto'

const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/

/** A random token of 256 bits (43 characters), and the hash to store instead of it. */
export const generateToken = (): { token: string; hash: Buffer } => {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  return { token, hash: createHash('sha256').update(token).digest() }
}

/** SHA-256 of a token, to find it by. Undefined for malformed text. */
export const hashToken = (token: string): Buffer | undefined =>
  TOKEN.test(token) ? createHash('sha256').update(token).digest() : undefined

/** Access tokens begin with it, so that scanners of secrets recognize them. */
const ACCESS_TOKEN_PREFIX = 'wm_pat_'

/** A random access token, and the hash to store instead of it. */
export const generateAccessToken = (): { token: string; hash: Buffer } => {
  const { token, hash } = generateToken()
  return { token: `${ACCESS_TOKEN_PREFIX}${token}`, hash }
}

/** Whether a text is an access token, valid or not, and not an API key. */
export const isAccessToken = (text: string): boolean => text.startsWith(ACCESS_TOKEN_PREFIX)

/** The hash of an access token, to find it by. Undefined for malformed text. */
export const hashAccessToken = (text: string): Buffer | undefined =>
  isAccessToken(text) ? hashToken(text.slice(ACCESS_TOKEN_PREFIX.length)) : undefined
