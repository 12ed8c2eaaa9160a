import { hash, randomInt, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ApiKeyKind, ApiKeyScope } from '@waymark/contracts/api-key'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_ID_LENGTH = 10
const SECRET_LENGTH = 32
// 62^6 exceeds 2^32, so six characters can represent any CRC32.
const CHECKSUM_LENGTH = 6
const FORMAT = /^wm_(pub|sec)_([0-9A-Za-z]{10})([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

/** The parts of an API key. `keyId` is public and identifies the key; `secret` is stored only as a hash. */
type ApiKeyParts = { kind: ApiKeyKind; keyId: string; secret: string }

const base62 = (length: number): string =>
  Array.from({ length }, () => BASE62.charAt(randomInt(BASE62.length))).join('')

const checksumOf = (text: string): string => {
  let rest = crc32(text)
  let digits = ''
  while (digits.length < CHECKSUM_LENGTH) {
    digits = BASE62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** Generates an API key with the CSPRNG. Its secret has 190 random bits. */
export const generateApiKey = (kind: ApiKeyKind): { key: string; keyId: string; secretHash: Buffer } => {
  const keyId = base62(KEY_ID_LENGTH)
  const secret = base62(SECRET_LENGTH)
  const body = `wm_${kind}_${keyId}${secret}`
  return { key: body + checksumOf(body), keyId, secretHash: hashSecret(secret) }
}

/** Parses an API key. `undefined` when it is malformed or its checksum is wrong. */
export const parseApiKey = (key: string): ApiKeyParts | undefined => {
  const [, kind, keyId, secret, checksum] = FORMAT.exec(key) ?? []
  if (!keyId || !secret || checksum !== checksumOf(key.slice(0, -CHECKSUM_LENGTH))) return undefined
  return { kind: kind as ApiKeyKind, keyId, secret }
}

/** SHA-256 of a key's secret. A slow hash is not needed for random secrets. */
const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Whether a secret matches a stored hash, compared in constant time. */
export const secretMatches = (secret: string, storedHash: Uint8Array): boolean => {
  const given = hashSecret(secret)
  return given.length === storedHash.length && timingSafeEqual(given, storedHash)
}

// A role includes the permissions of weaker ones.
const MANAGE_SCOPES: readonly ApiKeyScope[] = ['manage:read', 'manage:write', 'manage:admin']

/** Whether scopes include a required one. A `manage` scope includes the weaker ones. */
export const scopeAllows = (held: readonly ApiKeyScope[], needed: ApiKeyScope): boolean => {
  const rank = MANAGE_SCOPES.indexOf(needed)
  return held.includes(needed) || (rank !== -1 && held.some((scope) => MANAGE_SCOPES.indexOf(scope) > rank))
}
