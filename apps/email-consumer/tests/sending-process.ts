// The sending part of the email consumer in a separate process, for tests that kill it.
import { setInterval } from 'node:timers/promises'
import { openDatabase } from '@waymark/database'
import { createMessageRenderer } from '@waymark/service-kit'
import { createDeliveryQueue } from '../src/delivery-queue-queries.ts'
import { createHourlyLimit } from '../src/hourly-limit-queries.ts'
import { createSendDeliveries } from '../src/send-deliveries.ts'
import { createSmtpTransport } from '../src/smtp-transport.ts'

const { DATABASE_URL = '', SMTP_URL = '' } = process.env
const db = openDatabase({ url: DATABASE_URL, poolSize: 10, applicationName: 'sender', onError: () => {} })
const queue = createDeliveryQueue(db, { sendLeaseMs: 60_000 })
const ignore = () => {}
const send = createSendDeliveries({
  db,
  queue,
  transport: createSmtpTransport({ url: SMTP_URL, timeoutMs: 60_000 }),
  // A message that is not rendered in time is given up.
  messages: createMessageRenderer({ deadlineMs: 60_000 }),
  connections: 5,
  from: 'shop@sender.example',
  publicUrl: 'https://mail.example',
  isAllowedSender: async () => true,
  hourlyLimit: createHourlyLimit(db.pool, { perHour: 1_000_000, now: Date.now }),
  secret: 'a secret of thirty-two characters',
  retry: { firstMs: 100, longestMs: 100, giveUpAfterMs: 600_000 },
  log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  now: Date.now,
})
for await (const _ of setInterval(50)) {
  await queue.giveUpUnconfirmed()
  await send(new AbortController().signal)
}
