import { randomUUID } from 'node:crypto'
import type { AccountMailKind } from '@waymark/contracts/account-mail'
import { hashToken } from '@waymark/domain/account'
import { createMemoryLog, services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSendAccountMails } from '../src/send-account-mails.ts'
import type { HandOver, OutgoingMail } from '../src/transport.ts'
import { type Harness, openHarness, recordMails } from './harness.ts'

const HOUR_MS = 3_600_000

describe.skipIf(!services)('emails about an account', () => {
  let harness: Harness
  let userId = ''
  const log = createMemoryLog()
  const sent: OutgoingMail[] = []
  let outcome: HandOver

  beforeAll(async () => {
    harness = await openHarness()
    const data = { id: randomUUID(), email: 'ann@shop.example', name: 'Ann of https://evil.example' }
    userId = (await harness.db.prisma.user.create({ data: { ...data, passwordHash: 'none' } })).id
  })
  beforeEach(async () => {
    sent.length = 0
    outcome = { kind: 'accepted', response: '250 OK' }
    await harness.db.prisma.accountMail.deleteMany()
  })
  afterAll(() => harness?.close())

  const queue = async (kind: AccountMailKind, values: object = {}) => {
    const data = { id: randomUUID(), kind, recipient: 'ann@shop.example', userId, mailDueAt: new Date(0) }
    return (await harness.db.prisma.accountMail.create({ data: { ...data, ...values } })).id
  }
  const stored = (id: string) => harness.db.prisma.accountMail.findUniqueOrThrow({ where: { id } })
  const run = () =>
    createSendAccountMails({
      pool: harness.db.pool,
      transport: recordMails(sent, () => outcome),
      from: 'Waymark <no-reply@waymark.example>',
      publicUrl: 'https://waymark.example',
      log,
    })(new AbortController().signal)
  const textOf = (mail: OutgoingMail | undefined) =>
    `${mail?.raw}`.replaceAll('=\r\n', '').replaceAll('=3D', '=')
  const tokenIn = (mail: OutgoingMail | undefined) => /\?token=([\w-]{43})/.exec(textOf(mail))?.[1] ?? ''

  it.each([
    ['reset_password', '/console/reset-password?token=', HOUR_MS],
    ['verify_email', '/console/verify-email?token=', 24 * HOUR_MS],
  ] as const)('of the kind %s carry a link of which only the hash is stored', async (kind, page, validMs) => {
    const id = await queue(kind)
    await run()
    await run()
    expect(sent.map(({ envelope }) => envelope)).toEqual([
      { from: 'no-reply@waymark.example', to: 'ann@shop.example' },
    ])
    expect(textOf(sent[0])).toContain(`https://waymark.example${page}`)
    // The mailbox may be a stranger's, so that the user's name must not carry a message.
    expect(textOf(sent[0])).not.toContain('evil')
    const { tokenHash, tokenExpiresAt, mailDueAt } = await stored(id)
    expect(Buffer.from(tokenHash ?? [])).toEqual(hashToken(tokenIn(sent[0])))
    const validFor = (tokenExpiresAt?.getTime() ?? 0) - Date.now()
    expect(validFor).toBeGreaterThan(validMs - 60_000)
    expect(validFor).toBeLessThanOrEqual(validMs + 1_000)
    expect(mailDueAt).toBeNull()
  })

  it.each([
    'password_changed',
    'access_token_created',
    'second_factor_added',
    'second_factor_removed',
    'recovery_code_used',
    'recovery_codes_renewed',
  ] as const)('of the kind %s say when, and carry no token', async (kind) => {
    const id = await queue(kind, { createdAt: new Date('2026-11-25T09:30:00Z') })
    await run()
    expect(textOf(sent[0])).toContain('2026-11-25T09:30:00.000Z')
    expect(textOf(sent[0])).toContain('https://waymark.example/console/forgot-password')
    expect(tokenIn(sent[0])).toBe('')
    expect(await stored(id)).toMatchObject({ tokenHash: null, tokenExpiresAt: null, mailDueAt: null })
  })

  it('are not sent while it is unknown whether the address has an account', async () => {
    await queue('reset_password', { userId: null, recipient: 'nobody@shop.example', mailDueAt: null })
    await run()
    expect(sent).toEqual([])
  })

  it('are sent again after a temporary rejection, five times, each with a link of its own', async () => {
    const id = await queue('reset_password')
    outcome = { kind: 'refused', permanent: false, reason: '451 later' }
    for (let attempt = 1; attempt <= 5; attempt++) {
      await harness.db.prisma.accountMail.update({ where: { id }, data: { mailDueAt: new Date(0) } })
      await run()
      expect(sent).toHaveLength(attempt)
      expect(Buffer.from((await stored(id)).tokenHash ?? [])).toEqual(hashToken(tokenIn(sent.at(-1))))
    }
    expect(new Set(sent.map(tokenIn)).size).toBe(5)
    expect((await stored(id)).mailDueAt).toBeNull()
  })

  it('are sent once after a permanent rejection, which is logged without the address', async () => {
    const id = await queue('verify_email')
    outcome = { kind: 'refused', permanent: true, reason: '550 no such mailbox' }
    await run()
    expect((await stored(id)).mailDueAt).toBeNull()
    expect(log.lines.at(-1)).toMatchObject({ level: 'warn', details: { mailId: id } })
    expect(JSON.stringify(log.lines)).not.toContain('ann@shop.example')
  })
})
