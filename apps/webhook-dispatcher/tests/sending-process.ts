// The sending part of the webhook dispatcher in a separate process, for tests that kill it.
import { setInterval } from 'node:timers/promises'
import { openDatabase } from '@waymark/database'
import { createDeliveryQueue } from '../src/delivery-queue-queries.ts'
import { createHttpPost } from '../src/http-post.ts'
import { createSendDeliveries } from '../src/send-deliveries.ts'

const { DATABASE_URL = '' } = process.env
const db = openDatabase({ url: DATABASE_URL, poolSize: 10, applicationName: 'sender', onError: () => {} })
const ignore = () => {}
const send = createSendDeliveries({
  queue: createDeliveryQueue({
    db,
    connectionsPerEndpoint: 8,
    leaseMs: 60_000,
    firstBlockMs: 60_000,
    longestBlockMs: 60_000,
    pauseAfterMs: 600_000,
  }),
  post: createHttpPost({ allowPrivateAddresses: true, timeoutMs: 50_000 }).post,
  maxInFlight: 100,
  retry: { firstMs: 100, longestMs: 100, giveUpAfterMs: 600_000 },
  log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  now: Date.now,
})
for await (const _ of setInterval(50)) {
  await send(new AbortController().signal)
}
