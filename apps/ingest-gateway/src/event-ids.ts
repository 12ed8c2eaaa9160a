import { randomFillSync } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'

const RANDOM_BYTES = 16
const IDS_AT_ONCE = 256

/** Makes ids for events: UUIDv7, with random bytes that are drawn for many at once, since each draw costs as much. */
export const createEventIds = (): (() => string) => {
  const random = new Uint8Array(RANDOM_BYTES * IDS_AT_ONCE)
  let used = random.length
  return () => {
    if (used === random.length) {
      randomFillSync(random)
      used = 0
    }
    used += RANDOM_BYTES
    return uuidv7({ random: random.subarray(used - RANDOM_BYTES, used) })
  }
}
