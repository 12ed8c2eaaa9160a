import type { RetryPlan } from '@waymark/domain/email'
import { createAllowedSenders } from '@waymark/pipeline'
import { createMessageRenderer } from '@waymark/service-kit'
import { CLOSED_PORT, createMemoryLog, eventually, freePort, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDeliveryQueue } from '../src/delivery-queue-queries.ts'
import { createHourlyLimit, HOUR_MS } from '../src/hourly-limit-queries.ts'
import { createSendDeliveries } from '../src/send-deliveries.ts'
import { createSmtpTransport } from '../src/smtp-transport.ts'
import type { MailTransport } from '../src/transport.ts'
import { type Harness, openHarness } from './harness.ts'
import { type Behaviour, type Caught, refusal, startSmtpCatcher } from './smtp-catcher.ts'

/** The second attempt follows within one run; the other plan needs time to pass. */
const PLAN: RetryPlan = { firstMs: 10, longestMs: 50, giveUpAfterMs: 24 * 60 * 60_000 }
const PATIENT: RetryPlan = { ...PLAN, firstMs: HOUR_MS, longestMs: HOUR_MS }

describe.skipIf(!services)('sending deliveries', () => {
  let harness: Harness
  const cleanUps: (() => Promise<unknown>)[] = []
  // One for all senders, because starting its threads takes longer than sending. A message that is not rendered in time is
  // given up.
  const messages = createMessageRenderer({ deadlineMs: 60_000 })
  beforeAll(async () => {
    harness = await openHarness()
  })
  // Senders take every due delivery, from any test.
  beforeEach(() => harness.db.pool.query('DELETE FROM email.deliveries'))
  afterAll(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp()
    await messages.close()
    await harness?.close()
  })

  const startServer = async (behaviour?: Behaviour) => {
    const server = await startSmtpCatcher(behaviour)
    cleanUps.push(() => server.stop())
    return server
  }
  /** A sending process, with separate connections. */
  const openSender = (
    url: string,
    {
      retry = PLAN,
      connections = 5,
      perHour = 1_000_000,
      now = Date.now,
      transport = createSmtpTransport({ url, timeoutMs: 60_000 }),
    }: {
      retry?: RetryPlan
      connections?: number
      perHour?: number
      now?: () => number
      transport?: MailTransport
    } = {},
  ) => {
    const db = harness.open()
    cleanUps.push(
      () => db.close(),
      () => transport.close(),
    )
    const queue = createDeliveryQueue(db, { sendLeaseMs: 60_000 })
    const log = createMemoryLog()
    const run = createSendDeliveries({
      db,
      queue,
      transport,
      messages,
      connections,
      from: 'Shöp <shop@sender.example>',
      publicUrl: 'https://mail.example',
      secret: 'a secret of thirty-two characters',
      isAllowedSender: createAllowedSenders(db.pool, ['sender.example']),
      hourlyLimit: createHourlyLimit(db.pool, { perHour, now }),
      retry,
      log,
      now: Date.now,
    })
    return { send: () => run(new AbortController().signal), run, queue, transport, log }
  }
  const sendUntil = async (send: () => Promise<unknown>, triggerId: string, done: string[]) =>
    eventually('every delivery is done with', async () => {
      await send()
      const rows = await harness.rows(triggerId)
      return rows.every(({ status }) => done.includes(status)) && rows
    })
  const addresses = (count: number) => Array.from({ length: count }, (_, n) => `p${n}@example.com`)
  const countBy = (caught: readonly Caught[]) =>
    new Map([...Map.groupBy(caught, ({ to }) => to)].map(([to, messages]) => [to, messages.length]))

  it('measures how long the oldest due email has waited, also one about an account', async () => {
    const triggerId = await harness.newTrigger()
    const { queue, send } = openSender((await startServer()).url)
    const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000)
    await harness.enqueue(triggerId, ['later@example.com'], { nextAttemptAt: minutesAgo(-1) })
    expect(await queue.oldestDueSeconds()).toBe(0)
    await harness.enqueue(triggerId, ['old@example.com'], { nextAttemptAt: minutesAgo(10) })
    expect(await queue.oldestDueSeconds()).toBeGreaterThanOrEqual(600)
    await send()
    expect(await queue.oldestDueSeconds()).toBe(0)
    const person = { id: uuidv7(), email: 'ann@example.com', name: 'Ann', passwordHash: 'none' }
    const { id: userId, email: recipient } = await harness.db.prisma.user.create({ data: person })
    const mail = { id: uuidv7(), kind: 'reset_password', recipient, userId, mailDueAt: minutesAgo(20) }
    await harness.db.prisma.accountMail.create({ data: mail })
    expect(await queue.oldestDueSeconds()).toBeGreaterThanOrEqual(1_200)
    await harness.db.prisma.accountMail.deleteMany()
  })

  it('sends due deliveries, with the headers that receivers require', async () => {
    const server = await startServer()
    const triggerId = await harness.newTrigger({ subject: 'Hi {{traits.name}} ✓' })
    const [id] = await harness.enqueue(triggerId, ['ann@example.com'])
    await openSender(server.url).send()
    expect(await harness.rows(triggerId)).toMatchObject([
      { status: 'sent', attempts: 1, context: null, next_attempt_at: null, sent_at: expect.any(Date) },
    ])
    const published = await harness.db.pool.query<{ value: string }>(
      `SELECT value FROM ingest.outbox WHERE topic = 'emails.sent.v1' AND value LIKE $1`,
      [`%${id}%`],
    )
    expect(published.rows.map(({ value }) => JSON.parse(value))).toMatchObject([
      { kind: 'sent', projectId: harness.projectId, deliveryId: id, triggerId },
    ])
    expect(published.rows[0]?.value).not.toContain('example.com')
    const [{ raw, to } = { raw: '', to: '' }] = server.caught
    expect(to).toBe('ann@example.com')
    expect(raw).toMatch(/^From: =\?UTF-8\?Q\?Sh=C3=B6p\?= <shop@sender.example>\r$/m)
    expect(raw).toMatch(new RegExp(`^Message-ID: <${id}@sender.example>\r$`, 'm'))
    expect(raw).toMatch(/^List-Unsubscribe: <https:\/\/mail.example\/u\/[\w-]{43}>\r$/m)
    expect(raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
    expect(raw).toContain('multipart/alternative')
    expect(raw).toContain('Hello Ann of Shop &lt;&amp;&gt;')
  })

  it('sends nothing from a disallowed or withdrawn sender, and stores the reason', async () => {
    const server = await startServer()
    const project = await harness.db.prisma.project.findUniqueOrThrow({ where: { id: harness.projectId } })
    const sender = { id: harness.projectId, tenantId: project.tenantId, recipient: 'postmaster@own.example' }
    const { id } = await harness.db.prisma.emailSender.create({
      data: { ...sender, sender: 'own.example', verifiedAt: new Date() },
    })
    const verified = await harness.newTrigger({ from: 'Shop <hello@own.example>' })
    const foreign = await harness.newTrigger({ from: 'Bank <service@bank.example>' })
    const { send } = openSender(server.url)
    await harness.enqueue(verified, ['ann@example.com'])
    await harness.enqueue(foreign, ['ann@example.com'])
    await send()
    expect(await harness.rows(verified)).toMatchObject([{ status: 'sent' }])
    expect(await harness.rows(foreign)).toMatchObject([
      { status: 'failed', attempts: 0, reason: expect.stringContaining('MAIL_ALLOWED_SENDERS') },
    ])
    await harness.db.prisma.emailSender.update({ where: { id }, data: { verifiedAt: null } })
    await harness.enqueue(verified, ['bob@example.com'])
    await send()
    expect((await harness.rows(verified)).map(({ status }) => status)).toEqual(['sent', 'failed'])
    await harness.db.prisma.emailSender.delete({ where: { id } })
    expect(server.caught.map(({ to }) => to)).toEqual(['ann@example.com'])
  })

  it('sends up to the hourly limit over all processes, and the rest in later hours', async () => {
    const server = await startServer()
    const perHour = 5
    // The hour ends at least a minute later by the clock of the database, by which deliveries are due.
    let now = Date.now() + 60_000
    const limits = { perHour, now: () => now }
    const projectId = await harness.newProject()
    const triggerId = await harness.newTrigger({ projectId })
    await harness.enqueue(triggerId, addresses(13), { projectId })
    const elsewhere = await harness.newTrigger()
    const senders = [openSender(server.url, limits), openSender(server.url, limits)]
    await Promise.all(senders.map(({ send }) => send()))
    const waiting = (await harness.rows(triggerId)).filter(({ status }) => status === 'pending')
    expect(server.caught).toHaveLength(perHour)
    expect(waiting).toHaveLength(8)
    for (const { reason, attempts, context } of waiting) {
      expect(reason).toContain('LIMIT_EMAILS_PER_HOUR')
      expect({ attempts, context }).toMatchObject({ attempts: 0, context: expect.anything() })
    }
    // Nothing is due before the next hour, and other projects do not wait.
    const nextHour = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS
    for (const { next_attempt_at } of waiting)
      expect(next_attempt_at?.getTime()).toBeGreaterThanOrEqual(nextHour - 60_000)
    await harness.enqueue(elsewhere, ['other@example.com'])
    await senders[0]?.send()
    expect(server.caught).toHaveLength(perHour + 1)
    for (const sent of [2 * perHour, 13]) {
      now += HOUR_MS
      await harness.letTimePass()
      await Promise.all(senders.map(({ send }) => send()))
      expect(server.caught).toHaveLength(sent + 1)
    }
    expect([...countBy(server.caught).values()].every((count) => count === 1)).toBe(true)
  })

  it.each([
    ['what the mail server answered', '250 queued as 7F', '250 queued as 7F'],
    ['that it was accepted when the mail server said nothing', '', 'the mail server accepted it'],
  ])('stores the reason of a sent email: %s', async (_what, response, reason) => {
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, ['ann@example.com'])
    const transport: MailTransport = {
      send: async (_mail, begin) => {
        await begin()
        return { kind: 'accepted', response }
      },
      deleteCopies: async () => {},
      close: async () => {},
    }
    await openSender('smtp://localhost:1', { transport }).send()
    expect(await harness.rows(triggerId)).toMatchObject([{ status: 'sent', reason }])
  })

  it('deletes the copy of a message whose person was erased while it was written', async () => {
    const triggerId = await harness.newTrigger()
    const ids = await harness.enqueue(triggerId, ['ann@example.com', 'bob@example.com'])
    const deleted: string[] = []
    const { send } = openSender('smtp://localhost:1', {
      transport: {
        send: async ({ id }) => {
          // Like an erasure.
          const anonymous = { recipient: null, nextAttemptAt: null, attemptToken: null, status: 'canceled' }
          if (id === ids[0]) await harness.db.prisma.emailDelivery.update({ where: { id }, data: anonymous })
          return { kind: 'accepted', response: `${id}.eml` }
        },
        deleteCopies: async (gone) => void deleted.push(...gone),
        close: async () => {},
      },
    })
    await send()
    expect(deleted).toEqual([ids[0]])
  })

  it('ignores headers and recipients in template values', async () => {
    const server = await startServer()
    const evil = 'x\r\nBcc: everybody@example.com\r\n\r\n<script>'
    const triggerId = await harness.newTrigger({
      subject: '{{traits.name}}',
      from: 'Shop <shop@sender.example>',
    })
    await harness.enqueue(triggerId, ['ann@example.com'], {
      context: { traits: { name: evil }, event: {}, profile: {} },
    })
    await openSender(server.url).send()
    expect(server.caught).toHaveLength(1)
    const [headers = ''] = server.caught[0]?.raw.split('\r\n\r\n') ?? []
    expect(headers).not.toMatch(/^Bcc:/im)
    expect(headers).toMatch(/^Subject: x Bcc: everybody@example.com <script>\r$/m)
  })

  it('signs in with the credentials of the URL', async () => {
    let signedIn = ''
    const server = await startServer({
      options: {
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: ({ username, password }, _session, done) => {
          signedIn = `${username}:${password}`
          done(null, { user: username })
        },
      },
    })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, ['ann@example.com'])
    await openSender(server.url.replace('//', '//ann:p%40ss@')).send()
    expect(signedIn).toBe('ann:p@ss')
    expect(server.caught).toHaveLength(1)
  })

  it('retries a greylisted message until it is accepted, and sends it once', async () => {
    const refused = new Map<string, number>()
    const server = await startServer({
      onRecipient: (address) => {
        const times = refused.get(address) ?? 0
        refused.set(address, times + 1)
        if (times < 2) throw refusal(451, '4.7.1 Greylisted, try again later')
      },
    })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, addresses(5))
    const { send } = openSender(server.url, { retry: PATIENT })
    for (const attempts of [1, 2]) {
      await send()
      for (const row of await harness.rows(triggerId)) {
        expect(row).toMatchObject({
          status: 'pending',
          attempts,
          reason: expect.stringContaining('Greylisted'),
        })
        expect(row.next_attempt_at?.getTime()).toBeGreaterThan(Date.now() + HOUR_MS / 4)
      }
      await harness.letTimePass()
    }
    await send()
    const rows = await harness.rows(triggerId)
    expect(rows.map(({ attempts }) => attempts)).toEqual([3, 3, 3, 3, 3])
    expect([...countBy(server.caught).values()]).toEqual([1, 1, 1, 1, 1])
  })

  it('retries after a temporary rejection of the complete message', async () => {
    let times = 0
    const server = await startServer({
      onMessage: () => {
        times += 1
        if (times === 1) throw refusal(452, '4.3.1 Insufficient storage')
      },
    })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, ['ann@example.com'])
    const rows = await sendUntil(openSender(server.url).send, triggerId, ['sent'])
    expect(rows).toMatchObject([{ attempts: 2 }])
    expect(server.caught).toHaveLength(1)
  })

  it('fails a permanent rejection, and keeps what a retry needs', async () => {
    const server = await startServer({
      onRecipient: (address) => {
        if (address.startsWith('p0')) throw refusal(550, '5.1.1 User unknown')
      },
      onMessage: ({ to }) => {
        if (to.startsWith('p1')) throw refusal(554, '5.7.1 Looks like spam')
      },
    })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, addresses(3))
    const { send } = openSender(server.url)
    await send()
    await harness.letTimePass()
    await send()
    expect(await harness.rows(triggerId)).toMatchObject([
      {
        status: 'failed',
        attempts: 1,
        reason: expect.stringContaining('5.1.1 User unknown'),
        context: expect.any(Object),
      },
      { status: 'failed', attempts: 1, reason: expect.stringContaining('5.7.1 Looks like spam') },
      { status: 'sent' },
    ])
  })

  it('retries while the server is unavailable, and fails after the retry period', async () => {
    // A server starts at it later.
    const port = await freePort()
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, addresses(3))
    const { send } = openSender(`smtp://127.0.0.1:${port}`, { retry: PATIENT })
    await send()
    expect(await harness.rows(triggerId)).toMatchObject([
      { status: 'pending', attempts: 1, reason: expect.stringContaining('ECONNREFUSED') },
      { status: 'pending' },
      { status: 'pending' },
    ])
    const server = await startServer({ port })
    await harness.letTimePass()
    await send()
    expect((await harness.rows(triggerId)).map(({ status }) => status)).toEqual(['sent', 'sent', 'sent'])
    expect([...countBy(server.caught).values()]).toEqual([1, 1, 1])

    const late = await harness.newTrigger()
    await harness.enqueue(late, ['ann@example.com'], { queuedAt: new Date(Date.now() - PLAN.giveUpAfterMs) })
    await openSender(`smtp://127.0.0.1:${CLOSED_PORT}`).send()
    expect(await harness.rows(late)).toMatchObject([{ status: 'failed', attempts: 1 }])
  })

  it('does not resend after a missing response to a complete message', async () => {
    let dropped = 0
    const server = await startServer({
      onMessage: () => {
        dropped += 1
        server.dropAll()
      },
    })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, ['ann@example.com'])
    const { send } = openSender(server.url)
    await send()
    await harness.letTimePass()
    await send()
    expect(await harness.rows(triggerId)).toMatchObject([
      { status: 'unconfirmed', attempts: 1, context: null },
    ])
    expect(dropped).toBe(1)
  })

  it('resends when the connection broke before the message was requested', async () => {
    let times = 0
    const server = await startServer({
      onRecipient: () => {
        times += 1
        if (times === 1) server.dropAll()
      },
    })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, ['ann@example.com'])
    await sendUntil(openSender(server.url).send, triggerId, ['sent'])
    expect(server.caught).toHaveLength(1)
  })

  it('reuses connections, and replaces those that the server has closed', async () => {
    const server = await startServer()
    const triggerId = await harness.newTrigger()
    const { send } = openSender(server.url, { connections: 1 })
    await harness.enqueue(triggerId, addresses(10))
    await sendUntil(send, triggerId, ['sent'])
    expect(server.connections()).toBe(1)
    server.dropAll()
    await harness.enqueue(triggerId, ['late@example.com'])
    const rows = await sendUntil(send, triggerId, ['sent'])
    expect(rows.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 11 }, () => 1))
    expect(server.caught).toHaveLength(11)
  })

  it('sends other messages while one server response is slow', async () => {
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const server = await startServer({ onMessage: ({ to }) => (to.startsWith('slow') ? held : undefined) })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, ['slow@example.com', ...addresses(5)])
    const sending = openSender(server.url, { connections: 2 }).send()
    await eventually('the others were sent', () => server.caught.length === 5)
    await harness.enqueue(triggerId, ['later@example.com'])
    await eventually('so was what became due meanwhile', () => server.caught.length === 6)
    release()
    await sending
    expect(server.caught.map(({ to }) => to)).toContain('slow@example.com')
  })

  it('sends each of 200 once with two processes', async () => {
    const server = await startServer()
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, addresses(200))
    await Promise.all([openSender(server.url), openSender(server.url)].map(({ send }) => send()))
    const rows = await harness.rows(triggerId)
    expect(rows.every(({ status, attempts }) => status === 'sent' && attempts === 1)).toBe(true)
    expect(countBy(server.caught)).toEqual(new Map(server.caught.map(({ to }) => [to, 1])))
    expect(server.caught).toHaveLength(200)
  })

  it('leaves a delivery to the process that claimed it after its lease expired', async () => {
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = 0
    const server = await startServer({
      onRecipient: () => {
        asked += 1
        return asked === 1 ? held : undefined
      },
    })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, ['ann@example.com'])
    const slow = openSender(server.url).send()
    await eventually('the first is at it', () => asked === 1)
    await harness.letTimePass()
    await openSender(server.url).send()
    release()
    await slow
    expect(server.caught).toHaveLength(1)
    expect(await harness.rows(triggerId)).toMatchObject([{ status: 'sent', attempts: 1 }])
  })

  it('sends only test emails for a paused trigger, and none to unsubscribed people', async () => {
    const server = await startServer()
    const paused = await harness.newTrigger({ status: 'paused' })
    await harness.enqueue(paused, ['ann@example.com'])
    await harness.enqueue(paused, ['tester@example.com'], { test: true })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, ['Gone@Example.com'])
    await harness.db.prisma.emailSuppression.create({
      data: {
        id: crypto.randomUUID(),
        projectId: harness.projectId,
        address: 'gone@example.com',
        reason: 'unsubscribed',
      },
    })
    await openSender(server.url).send()
    expect(await harness.rows(paused)).toMatchObject([
      { status: 'canceled', attempts: 0, context: null },
      { status: 'sent', recipient: 'tester@example.com' },
    ])
    expect(await harness.rows(triggerId)).toMatchObject([{ status: 'suppressed', attempts: 0 }])
    expect(server.caught.map(({ to }) => to)).toEqual(['tester@example.com'])
    expect(server.caught[0]?.raw).toMatch(/^Subject: \[Test\] Hi Ann\r$/m)
  })

  it('fails a delivery whose template exceeds its limits, with the reason', async () => {
    const server = await startServer()
    const triggerId = await harness.newTrigger({ html: '{{#each traits.l}}{{/each}}' })
    const traits = { l: Array.from({ length: 10_001 }, () => 1) }
    await harness.enqueue(triggerId, ['ann@example.com'], { context: { traits, event: {}, profile: {} } })
    await openSender(server.url).send()
    expect(await harness.rows(triggerId)).toMatchObject([
      { status: 'failed', reason: expect.stringContaining('html template: loops run more than') },
    ])
    expect(server.caught).toEqual([])
  })

  it('finishes running deliveries when stopped, and starts no others', async () => {
    const stopping = new AbortController()
    const server = await startServer({ onMessage: () => stopping.abort() })
    const triggerId = await harness.newTrigger()
    await harness.enqueue(triggerId, addresses(20))
    await openSender(server.url, { connections: 2 }).run(stopping.signal)
    const rows = await harness.rows(triggerId)
    expect(rows.filter(({ status }) => status === 'sent')).toHaveLength(2)
    expect(rows.filter(({ status }) => status === 'pending')).toHaveLength(18)
    expect(server.caught).toHaveLength(2)
  })
})
