import type { ReportMessage } from '@waymark/domain/subscription'
import { createScope, startService } from '@waymark/service-kit'
import { createMemoryLog, services } from '@waymark/testing'
import { Registry } from 'prom-client'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSendSubscriptionMails } from '../src/send-subscription-mails.ts'
import { createSmtpTransport } from '../src/smtp-transport.ts'
import type { MailTransport } from '../src/transport.ts'
import { unsubscribeRoutes } from '../src/unsubscribe-routes.ts'
import { type Harness, openHarness } from './harness.ts'
import { refusal, startSmtpCatcher } from './smtp-catcher.ts'

const SECRET = 'a secret of thirty-two characters'
const PNG = Buffer.from('the bytes of a picture')

describe.skipIf(!services)('emails of subscriptions', () => {
  const log = createMemoryLog()
  const scope = createScope(log)
  let harness: Harness
  let base: string
  /** What the mail server does with the next message. */
  let refuse: Error | undefined
  let server: Awaited<ReturnType<typeof startSmtpCatcher>>
  beforeAll(async () => {
    harness = await openHarness()
    server = await startSmtpCatcher({
      onMessage: () => {
        const error = refuse
        refuse = undefined
        if (error) throw error
      },
    })
    const http = { port: 0, metricsPort: 0, trustedProxies: 0 }
    const routes = unsubscribeRoutes({ db: harness.db, secrets: [SECRET] })
    const { port } = await startService({ routes }, http, { log, metrics: new Registry() }, scope)
    base = `http://localhost:${port}`
  })
  afterAll(async () => {
    await scope.dispose()
    await server?.stop()
    await harness?.close()
  })

  /** Members of the project with an email each, which is due. */
  const queue = async (count: number, { isTest = false } = {}) => {
    const { prisma } = harness.db
    const { projectId } = harness
    const id = uuidv7()
    const dashboard = await prisma.dashboard.create({
      data: { id: uuidv7(), projectId, name: 'Shop', insightIds: [] },
    })
    await prisma.subscription.create({
      data: {
        id,
        projectId,
        dashboardId: dashboard.id,
        name: 'Every day',
        frequency: 'day',
        hour: 7,
        timeZone: 'UTC',
        emailRoles: [],
        userIds: [],
        sentUntil: new Date(0),
        dueAt: new Date(0),
      },
    })
    const message: ReportMessage = {
      subscription: 'Every day',
      dashboard: 'Shop',
      project: 'Shop <&>',
      frequency: 'day',
      timeZone: 'UTC',
      from: '2026-11-27T00:00:00.000Z',
      to: '2026-11-28T00:00:00.000Z',
      tiles: [
        {
          name: 'Orders',
          figures: [{ label: 'Orders', value: 12, before: 10, format: 'number', currency: null }],
          problem: null,
          picture: { png: PNG.toString('base64'), alt: '24 bars from 0 to 3' },
        },
      ],
      moreTiles: 0,
      isTest,
      address: 'https://waymark.example/console/p/p1/dashboards/d1',
    }
    const report = { id: uuidv7(), subscriptionId: id, isTest, message, createdAt: new Date() }
    await prisma.subscriptionReport.create({
      data: { ...report, periodStart: new Date(message.from), periodEnd: new Date(message.to) },
    })
    const addresses: string[] = []
    for (let index = 0; index < count; index++) {
      const email = `${uuidv7()}@example.com`
      const user = await prisma.user.create({ data: { id: uuidv7(), email, name: 'Ann', passwordHash: '' } })
      await prisma.projectMember.create({ data: { projectId, userId: user.id, role: 'viewer' } })
      const recipient = { id: uuidv7(), subscriptionId: id, projectId, userId: user.id, address: email }
      await prisma.subscriptionRecipient.create({ data: recipient })
      await prisma.subscriptionMail.create({
        data: { id: uuidv7(), reportId: report.id, recipientId: recipient.id },
      })
      addresses.push(email)
    }
    return { id, addresses, reportId: report.id }
  }
  const send = async (
    transport: MailTransport = createSmtpTransport({ url: server.url, timeoutMs: 60_000 }),
  ) => {
    const db = harness.open()
    try {
      await createSendSubscriptionMails({
        pool: db.pool,
        transport,
        from: 'Waymark <no-reply@waymark.example>',
        publicUrl: 'https://waymark.example',
        secret: SECRET,
        log,
      })(new AbortController().signal)
    } finally {
      await transport.close()
      await db.close()
    }
  }
  const mailsOf = (reportId: string) =>
    harness.db.prisma.subscriptionMail.findMany({
      where: { reportId },
      orderBy: { id: 'asc' },
      select: { status: true, reason: true },
    })
  const caught = (addresses: readonly string[]) => server.caught.filter(({ to }) => addresses.includes(to))
  /** Long lines are folded. */
  const unfolded = (raw: string) => raw.replaceAll(/=\r\n/g, '')
  const pathIn = (raw: string) => /https:\/\/waymark\.example(\/u\/[\w-]{43})>/.exec(raw)?.[1] ?? 'no link'

  it('have figures and a picture, are sent by one of two processes, and end by a POST without a session', async () => {
    const { id, addresses, reportId } = await queue(4)
    await Promise.all([send(), send()])
    expect(
      caught(addresses)
        .map(({ to }) => to)
        .toSorted(),
    ).toEqual(addresses.toSorted())
    expect(await mailsOf(reportId)).toEqual(Array(4).fill({ status: 'sent', reason: null }))

    const raw = caught(addresses.slice(0, 1))[0]?.raw ?? ''
    expect(raw).toContain('Subject: Every day (Shop <&>): Friday 27 November 2026\r\n')
    expect(raw).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n')
    expect(raw).toMatch(/List-Unsubscribe: <https:\/\/waymark\.example\/u\/[\w-]{43}>\r\n/)
    expect(raw).toContain('Content-Type: multipart/alternative')
    expect(unfolded(raw)).toContain('  Orders: 12 (+20.0 %, 10 before)')
    const cid = /<img src=3D"cid:([^"]+)"/.exec(unfolded(raw))?.[1]
    expect(cid).toBeDefined()
    expect(raw).toContain(`Content-ID: <${cid}>\r\n`)
    expect(raw).toContain('Content-Disposition: inline')
    expect(raw).toContain(PNG.toString('base64'))

    const unsubscribed = async () =>
      (
        await harness.db.prisma.subscriptionRecipient.findMany({
          where: { subscriptionId: id, unsubscribedAt: { not: null } },
        })
      ).map(({ address }) => address)
    const path = pathIn(raw)
    const page = await fetch(`${base}${path}`)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain(
      'No more emails from the subscription Every day of Shop &lt;&amp;&gt;',
    )
    expect(await unsubscribed()).toEqual([])
    const oneClick = () =>
      fetch(`${base}${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'List-Unsubscribe=One-Click',
      })
    expect([(await oneClick()).status, (await oneClick()).status]).toEqual([200, 200])
    expect(await unsubscribed()).toEqual(addresses.slice(0, 1))
    // The project may go on sending other emails to the address.
    expect(await harness.db.prisma.emailSuppression.count()).toBe(0)
    const forged = `${path.slice(0, -1)}${path.endsWith('A') ? 'E' : 'A'}`
    expect((await fetch(`${base}${forged}`, { method: 'POST' })).status).toBe(404)
  })

  it('are not sent to who has left, has unsubscribed or is suppressed, except a test to who has unsubscribed', async () => {
    const { prisma } = harness.db
    const { id, addresses, reportId } = await queue(4)
    const test = await queue(1, { isTest: true })
    const [left = '', unsubscribed = '', suppressed = '', stays = ''] = addresses
    // The emails of a member are deleted with the membership.
    await prisma.projectMember.deleteMany({ where: { user: { email: left } } })
    await prisma.subscriptionRecipient.updateMany({
      where: { OR: [{ subscriptionId: id, address: unsubscribed }, { subscriptionId: test.id }] },
      data: { unsubscribedAt: new Date() },
    })
    const addressee = { id: uuidv7(), projectId: harness.projectId, address: suppressed }
    await prisma.emailSuppression.create({ data: { ...addressee, reason: 'bounced' } })
    await send()
    const sent = caught([...addresses, ...test.addresses]).map(({ to }) => to)
    expect(sent.toSorted()).toEqual([stays, ...test.addresses].toSorted())
    expect(await mailsOf(reportId)).toEqual([
      { status: 'skipped', reason: 'the recipient has unsubscribed' },
      { status: 'skipped', reason: 'the address is on the suppression list' },
      { status: 'sent', reason: null },
    ])
  })

  it('are sent again when the mail server refused them for now, but not when their outcome is unknown', async () => {
    const { addresses, reportId } = await queue(1)
    const makeDue = () =>
      harness.db.prisma.subscriptionMail.updateMany({ where: { reportId }, data: { dueAt: new Date(0) } })
    refuse = refusal(451, 'later')
    await send()
    expect([caught(addresses), await mailsOf(reportId)]).toEqual([[], [{ status: 'pending', reason: null }]])
    await makeDue()
    await send()
    expect([caught(addresses).length, await mailsOf(reportId)]).toEqual([
      1,
      [{ status: 'sent', reason: null }],
    ])

    // A process that stops while it hands the email over.
    const lost = await queue(1)
    const stopped = send({
      send: async (_mail, begin) => {
        await begin()
        throw new Error('the process stopped')
      },
      close: async () => {},
    })
    await expect(stopped).rejects.toThrow('the process stopped')
    await harness.db.prisma.subscriptionMail.updateMany({ data: { dueAt: new Date(0) } })
    await send()
    expect([caught(lost.addresses), await mailsOf(lost.reportId)]).toEqual([
      [],
      [{ status: 'unconfirmed', reason: null }],
    ])
  })
})
