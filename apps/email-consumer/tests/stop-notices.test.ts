import { createMemoryLog, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSendStopNotices } from '../src/send-stop-notices.ts'
import type { HandOver, OutgoingMail } from '../src/transport.ts'
import { type Harness, openHarness, recordMails } from './harness.ts'

describe.skipIf(!services)('notices of stopped decisions', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  const sent: OutgoingMail[] = []
  const send = (outcome: HandOver) =>
    createSendStopNotices({
      pool: harness.db.pool,
      transport: recordMails(sent, () => outcome),
      from: 'Shop <shop@sender.example>',
      publicUrl: 'https://waymark.example',
      log: createMemoryLog(),
    })(new AbortController().signal)

  it('are mailed once with the evidence, and again when the server refused them for now', async () => {
    const { prisma } = harness.db
    const { projectId } = harness
    const decisionId = uuidv7()
    await prisma.decision.create({
      data: { id: decisionId, projectId, key: 'checkout', status: 'active', definition: {} },
    })
    const evidence = {
      environment: 'production',
      ruleId: 'ramp',
      metric: 'Ordered',
      worseThan: 10,
      action: 'hold',
      at: '2026-11-21T05:00:00.000Z',
      variant: 'on',
      control: 'off',
      percentage: 25,
      people: { variant: 600, control: 1_200 },
      value: { variant: 0.1, control: 0.5 },
      lift: -0.8,
      interval: [-0.9, -0.7],
    }
    const id = uuidv7()
    await prisma.stopNotice.create({
      data: { id, projectId, decisionId, recipient: 'ann@example.com', evidence },
    })
    await send({ kind: 'refused', permanent: false, reason: 'later' })
    await send({ kind: 'accepted', response: 'ok' })
    expect(sent).toHaveLength(1)
    await prisma.stopNotice.update({ where: { id }, data: { dueAt: new Date(0) } })
    await send({ kind: 'accepted', response: 'ok' })
    await send({ kind: 'accepted', response: 'ok' })
    expect(sent).toHaveLength(2)
    expect(sent[1]?.envelope.to).toBe('ann@example.com')
    // Long lines are folded.
    const text = sent[1]?.raw.toString().replaceAll(/=\r?\n/g, '') ?? ''
    expect(text).toContain('A guard stopped checkout of')
    expect(text).toContain('The change is -80.0 %, between -90.0 % and -70.0 %.')
    expect(text).toContain('The ramp stays at 25 % of people.')
    expect(await prisma.stopNotice.count()).toBe(0)
  })
})
