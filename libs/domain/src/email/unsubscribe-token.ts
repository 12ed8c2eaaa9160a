import { createHmac, timingSafeEqual } from 'node:crypto'
import { parse, stringify, validate } from 'uuid'

const ID_BYTES = 16
const MAC_BYTES = 16
const TOKEN = /^[\w-]{43}$/

/**
 * A token that lets its bearer unsubscribe the recipient of one delivery: the delivery's id, and 128 bits of its
 * HMAC-SHA256 by `secret`. It holds no address, since links end up in logs.
 */
export const unsubscribeToken = (deliveryId: string, secret: string): string => {
  const id = Buffer.from(parse(deliveryId))
  return Buffer.concat([id, macOf(id, secret)]).toString('base64url')
}

/** The delivery that a token was made for by any of `secrets`; `undefined` when it is of none. */
export const deliveryOfToken = (token: string, secrets: readonly string[]): string | undefined => {
  if (!TOKEN.test(token)) return undefined
  const bytes = Buffer.from(token, 'base64url')
  // One token has one spelling: the spare bits of the last character are not to be played with.
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
    // A genuine token of bytes that are no UUID was never given out.
    return ''
  }
}
