import path from 'node:path'
import { COMPILED, eventually, extent, services, startProcess, untilDisconnected } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Harness, openHarness } from './harness.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const CONNECTIONS = 8
const KILLS = extent(1, 3)

describe.skipIf(!services)('a dispatcher that is killed', () => {
  let harness: Harness
  let receiver: Receiver
  /** Of further requests the receiver keeps the answers, so that they are in flight. */
  let answered: number
  beforeEach(async () => {
    harness = await openHarness()
    answered = 0
    receiver = await startReceiver((response) => {
      if (receiver.received.length <= answered) response.end()
    })
  })
  afterEach(async () => {
    await receiver?.stop()
    await harness?.close()
  })

  it('delivers everything, and repeats at most what was in flight', async () => {
    const { id } = await harness.newWebhook({ url: receiver.url })
    const people = Array.from({ length: 20 }, () => uuidv7())
    const ids = await harness.enqueue(
      id,
      Array.from({ length: 400 }, (_, n) => people[n % people.length] ?? null),
    )
    const start = () =>
      startProcess(process.execPath, [path.join(import.meta.dirname, 'sending-process.ts')], {
        env: { PATH: process.env.PATH, ...COMPILED, DATABASE_URL: harness.url },
      })
    for (let kill = 1; kill <= KILLS; kill++) {
      answered = receiver.received.length + 80
      const sender = start()
      await eventually('some are in flight', () => receiver.received.length > answered)
      await sender.kill()
      await untilDisconnected(harness.db.pool, 'sender')
      await harness.letTimePass()
    }
    answered = Number.POSITIVE_INFINITY
    const last = start()
    await eventually('everything is delivered', async () =>
      (await harness.rows(id)).every(({ status }) => status === 'delivered'),
    )
    await last.kill()
    expect(new Set(receiver.ids())).toEqual(new Set(ids))
    expect(receiver.received.length).toBeLessThanOrEqual(ids.length + KILLS * CONNECTIONS)
  })
})
