import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AppName, eventually, extent, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { createPool } from './coupons.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'
import { openKafka } from './kafka-admin.ts'
import { startLoad } from './load.ts'

const DRAIN_MS = 5_000
/** How much later than the replica itself its clients notice that it stops. */
const CLIENTS_ARE_TOLD_AFTER_MS = 300
const GRACE_MS = 30_000
const ROUNDS = extent(2, 8)
const CLIENTS = 6

type Ask = (n: number) => { method: string; path: string; body?: object }

describe.skipIf(!services)('SIGTERM under load', () => {
  let fleet: Fleet
  let codes: string[]
  beforeAll(async () => {
    fleet = await createFleet(undefined, { DRAIN_MS: `${DRAIN_MS}`, KAFKA_PARTITIONS: '6' })
    codes = (await createPool(fleet, { size: extent(20_000, 100_000) })).codes
    await fleet.db.prisma.shortLink.create({
      data: {
        id: uuidv7(),
        projectId: fleet.projectId,
        code: 'sigterm',
        status: 'active',
        tags: [],
        destination: 'https://shop.example/',
      },
    })
  })
  afterAll(() => fleet?.stop())

  /** One request on a kept-alive connection, without retry. */
  const ask = async (agent: Agent, { port }: Replica, { method, path, body }: ReturnType<Ask>) => {
    const asked = request({
      port,
      agent,
      method,
      path,
      headers: { 'X-API-Key': fleet.apiKey, ...(body && { 'Content-Type': 'application/json' }) },
    })
    asked.end(body && JSON.stringify(body))
    const [response] = await once(asked, 'response')
    response.resume()
    await once(response, 'end')
    return response.statusCode as number
  }

  const cases: [AppName, Ask, number][] = [
    [
      'ingest-gateway',
      (n) => ({ method: 'POST', path: '/api/v1/t', body: { eventName: 'e', visitorId: `v${n}` } }),
      202,
    ],
    ['link-redirector', () => ({ method: 'GET', path: '/s/sigterm' }), 302],
    [
      'coupon-service',
      () => ({ method: 'POST', path: '/api/v1/coupons/redeem', body: { code: codes.pop(), userId: 'u' } }),
      200,
    ],
    [
      'decision-service',
      (n) => ({ method: 'POST', path: '/api/v1/decide', body: { visitorId: `v${n}` } }),
      200,
    ],
    ['management-api', () => ({ method: 'GET', path: `/api/projects/${fleet.projectId}/events` }), 200],
  ]

  it.each(cases)('fails no request of a client without retries: %s', async (app, of, expected) => {
    let replicas = [await fleet.start(app), await fleet.start(app)]
    const agent = new Agent({ keepAlive: true })
    const answers: (number | string)[] = []
    let going = true
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = client; going; n++) {
        const replica = replicas[n % replicas.length]
        if (!replica) throw new Error('there is always one')
        answers.push(await ask(agent, replica, of(n)).catch((error) => `${error.message}`))
        await sleep(10)
      }
    })
    const exits: { exitCode: number | null; tookMs: number }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const [oldest, ...others] = replicas
      if (!oldest) throw new Error('there is always one')
      await sleep(500)
      const ended = oldest.terminate()
      await sleep(CLIENTS_ARE_TOLD_AFTER_MS)
      replicas = others
      exits.push(await ended)
      await oldest.restart()
      replicas = [...others, oldest]
    }
    going = false
    await Promise.all(clients)
    agent.destroy()
    const failed = answers.filter((answer) => answer !== expected)
    report(`${app} stopped ${ROUNDS} times under load`, {
      requests: answers.length,
      failed: failed.length,
      'exit codes': exits.map(({ exitCode }) => exitCode).join(' '),
      'slowest stop': `${Math.round(Math.max(...exits.map(({ tookMs }) => tookMs)))} ms`,
    })
    expect(failed).toEqual([])
    expect(answers.length).toBeGreaterThan(100)
    for (const { exitCode, tookMs } of exits) {
      expect(exitCode).toBe(0)
      expect(tookMs).toBeLessThan(GRACE_MS)
    }
    for (const replica of replicas) await replica.terminate()
  })

  it('commits exactly what was processed: the consumers', async () => {
    const { gateway, enrichment, persistence } = await fleet.startPipeline()
    const kafka = await openKafka(fleet)
    const { stop } = startLoad({ name: 'terminated', send: gateway.request, batch: 5, pauseMs: 25 })
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(1_500)
      for (const replica of [enrichment, persistence]) {
        const { exitCode, tookMs } = await replica.terminate()
        expect(exitCode).toBe(0)
        expect(tookMs).toBeLessThan(GRACE_MS)
      }
      const committed = await kafka.committed('persistence', 'events.enriched.v1')
      const handled = [...committed.values()].reduce((sum, offset) => sum + Number(offset), 0)
      const stored = await fleet.db.prisma.$queryRaw<{ n: number }[]>`
        SELECT count(*)::int AS n FROM ingest.event_ids`
      report(`the consumers stopped, round ${round + 1}`, {
        committed: handled,
        stored: stored[0]?.n ?? 0,
      })
      // Nothing stored has an uncommitted offset, so it is not delivered again.
      expect(handled).toBeGreaterThanOrEqual(stored[0]?.n ?? 0)
      await Promise.all([enrichment.restart(), persistence.restart()])
    }
    await eventually(
      'all is committed',
      async () => (await kafka.lag('persistence', 'events.enriched.v1')) === 0,
    )
    await expectStoredOnce(fleet, await stop(), 'the consumers stopped under load')
    await kafka.close()
  })
})
