import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const SECRET_BYTES = 32
const USER_HASH = /^[0-9a-f]{64}$/i

/** A new secret for user hashes: 256 random bits as text. */
export const generateIdentitySecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

/** The proof of a user that a server gives to a browser: HMAC-SHA-256 of the user id with the project's secret, in hex. */
export const userHashOf = (userId: string, secret: string): string => hmacOf(userId, secret).toString('hex')

/** Whether `userHash` proves `userId`, compared in constant time. */
export const isUserHash = (userHash: string, userId: string, secret: string): boolean =>
  USER_HASH.test(userHash) && timingSafeEqual(hmacOf(userId, secret), Buffer.from(userHash, 'hex'))

const hmacOf = (userId: string, secret: string): Buffer =>
  createHmac('sha256', secret).update(userId).digest()
