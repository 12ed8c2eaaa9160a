import { createHmac, timingSafeEqual } from 'node:crypto'
import { parse, stringify, validate } from 'uuid'

const ID_BYTES = 16
const MAC_BYTES = 16
const TOKEN = /^[\w-]{43}$/

/**
 * A token to unsubscribe the recipient of one delivery, or of a subscription: their id and 128 bits of its HMAC-SHA256 with
 * `secret`. It contains no address, because links get into logs.
 */
export const unsubscribeToken = (deliveryId: string, secret: string): string => {
  const id = Buffer.from(parse(deliveryId))
  return Buffer.concat([id, macOf(id, secret)]).toString('base64url')
}

/** The delivery id of a token that was signed with any of `secrets`. `undefined` for an invalid token. */
export const deliveryOfToken = (token: string, secrets: readonly string[]): string | undefined => {
  if (!TOKEN.test(token)) return undefined
  const bytes = Buffer.from(token, 'base64url')
  // The unused bits of the last character must be zero, so that a token has one encoding.
  if (bytes.length !== ID_BYTES + MAC_BYTES || bytes.toString('base64url') !== token) return undefined
  const id = bytes.subarray(0, ID_BYTES)
  const genuine = secrets.some((secret) => timingSafeEqual(macOf(id, secret), bytes.subarray(ID_BYTES)))
  if (!genuine) return undefined
  const deliveryId = hexOf(id)
  return validate(deliveryId) ? deliveryId : undefined
}

const macOf = (id: Buffer, secret: string): Buffer =>
  createHmac('sha256', secret).update('waymark unsubscribe 1\0').update(id).digest().subarray(0, MAC_BYTES)

const hexOf = (id: Buffer): string => {
  try {
    return stringify(id)
  } catch {
    // A valid token always contains a UUID.
    return ''
  }
}
