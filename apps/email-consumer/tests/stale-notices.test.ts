import { createMemoryLog, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { expect, it } from 'vitest'
import { createSendStaleNotices } from '../src/send-stale-notices.ts'
import type { HandOver, OutgoingMail } from '../src/transport.ts'
import { openHarness, recordMails } from './harness.ts'

it.skipIf(!services)(
  'mails stale decisions once, and again when the server refused them for now',
  async () => {
    const harness = await openHarness()
    try {
      const { prisma, pool } = harness.db
      const { projectId } = harness
      const sent: OutgoingMail[] = []
      const send = (outcome: HandOver) =>
        createSendStaleNotices({
          pool,
          transport: recordMails(sent, () => outcome),
          from: 'Shop <shop@sender.example>',
          publicUrl: 'https://waymark.example',
          log: createMemoryLog(),
        })(new AbortController().signal)
      const since = '2026-10-01T05:00:00.000Z'
      const decisions = [
        { key: 'old/flag', reason: 'not_evaluated', since },
        { key: 'everyone', reason: 'one_variant', variant: 'on', since },
        { key: 'stopped', reason: 'off', variant: 'off', since },
        { key: 'newer', reason: 'a_reason_of_later', since },
      ]
      const id = uuidv7()
      await prisma.staleNotice.create({
        data: { id, projectId, recipient: 'ann@example.com', decisions, total: 54 },
      })
      await send({ kind: 'refused', permanent: false, reason: 'later' })
      await send({ kind: 'accepted', response: 'ok' })
      expect(sent).toHaveLength(1)
      await prisma.staleNotice.update({ where: { id }, data: { dueAt: new Date(0) } })
      await send({ kind: 'accepted', response: 'ok' })
      await send({ kind: 'accepted', response: 'ok' })
      expect(sent).toHaveLength(2)
      expect(sent[1]?.envelope.to).toBe('ann@example.com')
      // Long lines are folded.
      const text = sent[1]?.raw.toString().replaceAll(/=\r?\n/g, '') ?? ''
      for (const part of [
        '54 decisions of Shop',
        'old/flag: nobody has asked for it since 2026-10-01.',
        'decisions/old%2Fflag',
        'everyone: everyone has got on since 2026-10-01.',
        'stopped: it has been off since 2026-10-01, so that everyone gets off.',
        'newer: it has been stale since 2026-10-01.',
        'and 50 more',
      ])
        expect(text).toContain(part)
      expect(await prisma.staleNotice.count()).toBe(0)
    } finally {
      await harness.close()
    }
  },
)
