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
