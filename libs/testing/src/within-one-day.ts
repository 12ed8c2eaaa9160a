import { setTimeout as sleep } from 'node:timers/promises'

const DAY_MS = 86_400_000
const MARGIN_MS = 60_000

/** Waits for the next day in UTC if less than a minute of this one is left, for what must happen on one day. */
export const withinOneDay = async (): Promise<void> => {
  const left = DAY_MS - (Date.now() % DAY_MS)
  if (left < MARGIN_MS) await sleep(left)
}
