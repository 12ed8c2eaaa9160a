import path from 'node:path'
import {
  COMPILED,
  eventually,
  extent,
  services,
  startProcess,
  type TestProcess,
  untilDisconnected,
} from '@waymark/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Harness, openHarness } from './harness.ts'
import { type Behaviour, type Caught, startSmtpCatcher } from './smtp-catcher.ts'

const CONNECTIONS = 5
const KILLS = extent(1, 4)

describe.skipIf(!services)('a sender that is killed', () => {
  let harness: Harness
  let server: Awaited<ReturnType<typeof startSmtpCatcher>>
  let sender: TestProcess | undefined

  beforeEach(async () => {
    harness = await openHarness()
  })
  afterEach(async () => {
    await kill()
    await server?.stop()
    await harness?.close()
  })

  const startServer = async (behaviour?: Behaviour): Promise<void> => {
    server = await startSmtpCatcher(behaviour)
  }
  const startSender = (): void => {
    sender = startProcess(process.execPath, [path.join(import.meta.dirname, 'sending-process.ts')], {
      env: { PATH: process.env.PATH, ...COMPILED, DATABASE_URL: harness.url, SMTP_URL: server.url },
    })
  }
  const kill = async (): Promise<void> => {
    await sender?.kill()
  }
  const restart = async (): Promise<void> => {
    await kill()
    await untilDisconnected(harness.db.pool, 'sender')
    await harness.letTimePass()
    startSender()
  }
  const enqueue = async (count: number): Promise<string> => {
    const triggerId = await harness.newTrigger()
    await harness.enqueue(
      triggerId,
      Array.from({ length: count }, (_, n) => `p${n}@example.com`),
    )
    return triggerId
  }
  const done = (triggerId: string) =>
    eventually('every delivery is done with', async () => {
      const rows = await harness.rows(triggerId)
      return rows.every(({ status }) => ['sent', 'unconfirmed'].includes(status)) && rows
    })
  const copies = (to: string | null): number => server.caught.filter((message) => message.to === to).length

  it('before the server asked for messages: each recipient gets one', async () => {
    let hold = true
    let held = 0
    await startServer({
      onRecipient: () => {
        if (!hold) return undefined
        held += 1
        return new Promise(() => {})
      },
    })
    const triggerId = await enqueue(40)
    startSender()
    await eventually('every connection is at it', () => held === CONNECTIONS)
    hold = false
    await restart()
    const rows = await done(triggerId)
    for (const { status, recipient } of rows) {
      expect(status).toBe('sent')
      expect(copies(recipient)).toBe(1)
    }
  })

  it('after the handover: none is sent twice, and uncertain ones become unconfirmed', async () => {
    let hold = true
    const releases: (() => void)[] = []
    const inHand: Caught[] = []
    await startServer({
      onMessage: (message) => {
        if (!hold) return undefined
        inHand.push(message)
        return new Promise((resolve) => releases.push(resolve))
      },
    })
    const triggerId = await enqueue(40)
    startSender()
    await eventually('every connection is at it', () => inHand.length === CONNECTIONS)
    hold = false
    await kill()
    // The server accepts them, but the client is gone.
    for (const release of releases) release()
    await restart()
    const rows = await done(triggerId)
    const uncertain = rows.filter(({ status }) => status === 'unconfirmed').map(({ recipient }) => recipient)
    expect(uncertain.sort()).toEqual(inHand.map(({ to }) => to).sort())
    for (const { recipient } of rows) expect(copies(recipient)).toBe(1)
  })

  it('repeatedly at random moments: sent emails were sent once, and few are uncertain', async () => {
    await startServer()
    const triggerId = await enqueue(100 + KILLS * 100)
    for (let n = 1; n <= KILLS; n++) {
      await restart()
      await eventually('some were sent', () => server.caught.length >= n * 100)
    }
    await restart()
    const rows = await done(triggerId)
    for (const { status, recipient } of rows) {
      if (status === 'sent') expect(copies(recipient)).toBe(1)
      else expect(copies(recipient)).toBeLessThanOrEqual(1)
    }
    expect(rows.filter(({ status }) => status === 'unconfirmed').length).toBeLessThanOrEqual(
      KILLS * CONNECTIONS,
    )
  })
})
