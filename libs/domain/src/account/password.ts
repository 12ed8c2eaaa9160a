import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const argon2Async = promisify(argon2)

// Parameters that OWASP recommends for argon2id: 19 MiB of memory, two passes, one lane.
const MEMORY_KIB = 19 * 1024
const PASSES = 2
const LANES = 1
const TAG_BYTES = 32
const NONCE_BYTES = 16

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')

const formatPhc = (nonce: Buffer, tag: Buffer): string =>
  `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${base64(nonce)}$${base64(tag)}`

// Keyboards may send é as one or two characters.
const messageOf = (password: string): string => password.normalize('NFKC')

/** Hashes a password with argon2id on Node's thread pool. Returns a PHC string with parameters and salt. */
export const hashPassword = async (password: string): Promise<string> => {
  const nonce = randomBytes(NONCE_BYTES)
  const tag = await argon2Async('argon2id', {
    message: messageOf(password),
    nonce,
    memory: MEMORY_KIB,
    passes: PASSES,
    parallelism: LANES,
    tagLength: TAG_BYTES,
  })
  return formatPhc(nonce, tag)
}

/**
 * Whether a password matches a hash of `hashPassword`, also one with other parameters. Runs on Node's thread pool and
 * compares in constant time.
 * @throws when the hash is malformed
 */
export const verifyPassword = async (password: string, hash: string): Promise<boolean> => {
  const [, memory, passes, lanes, nonce, tag] = PHC.exec(hash) ?? []
  if (!nonce || !tag) throw new Error('A stored password hash is not in the format of argon2id')
  const expected = Buffer.from(tag, 'base64')
  const actual = await argon2Async('argon2id', {
    message: messageOf(password),
    nonce: Buffer.from(nonce, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(lanes),
    tagLength: expected.length,
  })
  return timingSafeEqual(actual, expected)
}

/** A hash that no password matches, to spend the same time on unknown accounts. */
export const unmatchableHash = (): string => formatPhc(randomBytes(NONCE_BYTES), randomBytes(TAG_BYTES))

/**
 * Whether a password is easy to guess: it is listed, or a repeated listed one, or consists at least half of a listed one
 * with digits and signs around it. Case-insensitive. `listed` checks common passwords in lower case.
 */
export const isCommonPassword = (password: string, listed: { has(text: string): boolean }): boolean => {
  const text = password.toLowerCase()
  const core = text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
  return (
    listed.has(text) || isListedRepeated(text, listed) || (core.length * 2 >= text.length && listed.has(core))
  )
}

const isListedRepeated = (text: string, listed: { has(text: string): boolean }): boolean => {
  // A repeated part is found in the doubled text, at an offset of its length.
  const period = `${text}${text}`.indexOf(text, 1)
  return period < text.length && (period <= 2 || listed.has(text.slice(0, period)))
}
