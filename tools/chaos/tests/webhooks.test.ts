import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  docker,
  eventually,
  extent,
  requireServices,
  services,
  startKafka,
  startPostgres,
  startTogether,
} from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { AWAY_MS, RECOVERY_MS } from './durations.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'
import { type Load, startLoad } from './load.ts'

const KILLS = extent(2, 10)
/** A delivery in flight when its process is killed waits for its lease: 8 attempts of a second, and a minute. */
const SETTINGS = {
  WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true',
  WEBHOOK_TIMEOUT_MS: '1000',
  WEBHOOK_CONNECTIONS: '8',
}

describe.skipIf(!services)('webhooks under load', () => {
  let containers: Record<'kafka' | 'postgres', string>
  let fleet: Fleet
  let pipeline: Awaited<ReturnType<Fleet['startPipeline']>>
  let dispatcher: Replica
  let server: Server
  const stopAll: (() => Promise<unknown>)[] = []
  /** The `webhook-id` of each request, by the event that it delivered. */
  const received = new Map<string, string[]>()
  let inFlight = 0

  beforeAll(async () => {
    const [kafka, postgres] = await startTogether(startKafka(), startPostgres())
    for (const { container } of [kafka, postgres]) stopAll.push(() => container.stop({ timeout: 0 }))
    containers = { kafka: kafka.container.getId(), postgres: postgres.container.getId() }
    server = createServer(async (request, response) => {
      inFlight += 1
      const { data } = JSON.parse((await request.toArray()).join('')) as { data: { eventId: string } }
      const ids = received.get(data.eventId) ?? []
      received.set(data.eventId, [...ids, `${request.headers['webhook-id']}`])
      await sleep(20)
      inFlight -= 1
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    fleet = await createFleet({
      ...requireServices(),
      kafkaBrokers: kafka.brokers,
      postgresUrl: postgres.url,
    })
    stopAll.unshift(() => fleet.stop())
    await fleet.db.prisma.webhook.create({
      data: {
        id: uuidv7(),
        projectId: fleet.projectId,
        topics: ['event'],
        eventNames: [],
        status: 'active',
        secret: 'whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBjaGFyYWN0ZXJz',
        activatedAt: new Date(0),
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
      },
    })
    pipeline = await fleet.startPipeline()
    dispatcher = await fleet.start('webhook-dispatcher', SETTINGS)
  }, 240_000)
  afterAll(async () => {
    server?.closeAllConnections()
    server?.close()
    for (const stop of stopAll) await stop()
  })

  const start = (name: string) =>
    startLoad({ name, send: pipeline.gateway.request, senders: 2, pauseMs: 20, retryMs: 500 })
  const missing = (load: Load) => [...load.acknowledged].filter((id) => !received.has(id))

  /** Expects every acknowledged event to arrive, and its repetitions with the same `webhook-id`. */
  const expectDelivered = async (load: Load, what: string): Promise<void> => {
    await expectStoredOnce(fleet, load, what)
    await eventually('every event was delivered', () => missing(load).length === 0, RECOVERY_MS).catch(
      () => {},
    )
    const copies = load.sent.map((id) => received.get(id) ?? [])
    report(`${what}, webhooks`, {
      acknowledged: load.acknowledged.size,
      delivered: copies.filter((ids) => ids.length > 0).length,
      'delivered again': copies.filter((ids) => ids.length > 1).length,
      missing: missing(load).length,
    })
    expect(missing(load)).toEqual([])
    expect(copies.filter((ids) => new Set(ids).size > 1)).toEqual([])
    expect(dispatcher.isAlive()).toBe(true)
  }

  it('deliver everything when the dispatcher is killed with deliveries in flight', async () => {
    const { stop, load } = start('hooked-killed')
    let risked = 0
    for (let kill = 1; kill <= KILLS; kill++) {
      const arrived = received.size
      await eventually(
        'deliveries are in flight',
        () => received.size > arrived + 20 && inFlight > 0,
        RECOVERY_MS,
      )
      risked += inFlight
      await dispatcher.kill()
      await dispatcher.restart()
    }
    await stop()
    await expectDelivered(
      load,
      `webhook-dispatcher killed ${KILLS} times with ${risked} deliveries in flight`,
    )
  }, 400_000)

  it.each([
    ['PostgreSQL', 'postgres'],
    ['Kafka', 'kafka'],
  ] as const)(
    'deliver everything when %s is frozen',
    async (name, which) => {
      const { stop, load } = start(`hooked-${which}`)
      const before = received.size
      await eventually('deliveries arrive', () => received.size > before + 20, RECOVERY_MS)
      await docker('pause', containers[which])
      await sleep(AWAY_MS)
      await docker('unpause', containers[which])
      await stop()
      await expectDelivered(load, `${name} frozen for ${AWAY_MS / 1000} s`)
    },
    400_000,
  )
})
