import { createHash, randomBytes } from 'node:crypto'

const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/

/** A token that cannot be guessed, 256 random bits as 43 characters, and the hash that is stored instead of it. */
export const generateToken = (): { token: string; hash: Buffer } => {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  return { token, hash: createHash('sha256').update(token).digest() }
}

/** SHA-256 of a token, to look it up by; undefined for text that is none. */
export const hashToken = (token: string): Buffer | undefined =>
  TOKEN.test(token) ? createHash('sha256').update(token).digest() : undefined
