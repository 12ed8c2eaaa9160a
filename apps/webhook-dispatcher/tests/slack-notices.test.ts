import type { AlertMessage } from '@waymark/domain/alert'
import { createMemoryLog, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createHttpPost } from '../src/http-post.ts'
import { createSendSlackNotices, MAX_SLACK_ATTEMPTS } from '../src/send-slack-notices.ts'
import { type Harness, openHarness } from './harness.ts'
import { startReceiver, status } from './receiver.ts'

describe.skipIf(!services)('messages of alerts to Slack', () => {
  let harness: Harness
  const alertId = uuidv7()
  const message: AlertMessage = {
    alertId,
    name: 'Few <orders>',
    project: 'Shop',
    change: 'fired',
    condition: { type: 'below', value: 5 },
    interval: 'hour',
    bucket: '2026-11-28T04:00:00.000Z',
    value: 2,
    expected: null,
    deviation: null,
    address: 'https://waymark.example/console/p/p1/alerts/a1',
  }
  beforeAll(async () => {
    harness = await openHarness()
    await harness.db.prisma.alert.create({
      data: {
        id: alertId,
        projectId: harness.projectId,
        name: message.name,
        measure: {},
        condition: {},
        interval: 'hour',
        timeZone: 'UTC',
        webhooks: true,
        dueAt: new Date(),
      },
    })
  })
  beforeEach(() => harness.db.prisma.alertNotice.deleteMany())
  afterAll(() => harness?.close())

  const queue = async (url: string, more: { channel?: string; attempts?: number } = {}) => {
    await harness.db.prisma.alertNotice.create({
      data: { id: uuidv7(), alertId, channel: 'slack', recipient: url, message, ...more },
    })
  }
  const waiting = () => harness.db.prisma.alertNotice.findMany()
  const send = async (allowPrivateAddresses = true) => {
    const log = createMemoryLog()
    const http = createHttpPost({ allowPrivateAddresses, timeoutMs: 60_000 })
    onTestFinished(http.close)
    await createSendSlackNotices({ pool: harness.db.pool, post: http.post, log })(
      new AbortController().signal,
    )
    return JSON.stringify(log.lines)
  }
  const receive = async (answer?: Parameters<typeof startReceiver>[0]) => {
    const receiver = await startReceiver(answer)
    onTestFinished(receiver.stop)
    return receiver
  }

  it('are posted once in its own format, and those by email are not', async () => {
    const receiver = await receive()
    await queue(receiver.url)
    await queue('ann@example.com', { channel: 'email' })
    await Promise.all([send(), send()])
    expect(receiver.received.map(({ text }) => JSON.parse(text))).toEqual([
      {
        text:
          ':rotating_light: Alert: *Few &lt;orders&gt;* (Shop)\n' +
          'The hour from 2026-11-28T04:00:00.000Z had 2. The alert fires when it is below 5.\n' +
          '<https://waymark.example/console/p/p1/alerts/a1|Open the alert>',
      },
    ])
    expect(await waiting()).toMatchObject([{ channel: 'email' }])
  })

  it('are repeated while the endpoint is busy, and end with an answer that stays', async () => {
    const receiver = await receive(status(503))
    await queue(receiver.url)
    await send()
    expect(await waiting()).toMatchObject([{ attempts: 1 }])
    await send()
    expect(receiver.received).toHaveLength(1)
    await harness.db.prisma.alertNotice.updateMany({ data: { dueAt: new Date(0) } })
    receiver.answerWith(status(404))
    await send()
    expect(await waiting()).toEqual([])

    receiver.answerWith(status(503))
    await queue(receiver.url, { attempts: MAX_SLACK_ATTEMPTS - 1 })
    await send()
    expect(await waiting()).toEqual([])
  })

  it('go to no private address, and their secret address is not logged', async () => {
    const receiver = await receive()
    await queue(receiver.url.replace('/hook', '/secret-part'))
    expect(await send(false)).not.toContain('secret-part')
    expect(receiver.received).toEqual([])
    expect(await waiting()).toMatchObject([{ attempts: 1 }])
  })
})
