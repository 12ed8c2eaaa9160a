import { createHash } from 'node:crypto'
import { OWN_EVENT_ID_PREFIX } from '@waymark/contracts/schema-parts'
import { stringify, validate } from 'uuid'

/**
 * The key under which an event is stored once per project: the id itself when it is a UUID, otherwise the first 128
 * bits of the SHA-256 of the id.
 */
export const eventKeyOf = (eventId: string): string => {
  if (validate(eventId)) return eventId.toLowerCase()
  const digest = createHash('sha256').update(eventId).digest()
  // Version 8 marks a hash of our own, so that it never equals a UUID that a client generated.
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6)
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8)
  return stringify(digest.subarray(0, 16))
}

/** The id of the `coupon_redeemed` event of a redemption. */
export const redemptionEventId = (redemptionId: string): string =>
  `${OWN_EVENT_ID_PREFIX}redemption:${redemptionId}`
