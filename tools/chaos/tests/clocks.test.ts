import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { docker, eventually, extent, requireServices, services, startKafka } from '@waymark/testing'
import { afterAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { REVOKED_MS } from './durations.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'
import { openKafka } from './kafka-admin.ts'
import { startLoad } from './load.ts'

const HOUR_MS = 60 * 60 * 1000
const PRELOAD = path.resolve(import.meta.dirname, 'skewed-clock.mjs')

describe.skipIf(!services)('clocks', () => {
  const stops: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop()
  })
  const setUp = async (jumpMs: number) => {
    const kafka = await startKafka()
    stops.push(() => kafka.container.stop({ timeout: 0 }))
    const fleet = await createFleet(
      { ...requireServices(), kafkaBrokers: kafka.brokers },
      {
        KAFKA_PARTITIONS: '3',
        NODE_OPTIONS: `--import ${PRELOAD}`,
        CLOCK_JUMP_MS: `${jumpMs}`,
      },
    )
    stops.push(() => fleet.stop())
    return { fleet, broker: kafka.container.getId() }
  }
  const jump = (replicas: Record<string, Replica>) => {
    for (const { pid } of Object.values(replicas)) process.kill(pid, 'SIGUSR2')
  }

  const makeKey = async (fleet: Fleet, management: Replica) => {
    const keys = `/api/projects/${fleet.projectId}/api-keys`
    const created = await management.request(keys, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'to be revoked', kind: 'sec', scopes: ['events:write'] }),
    })
    const { id, key } = (await created.json()) as { id: string; key: string }
    return { key, revoke: () => management.request(`${keys}/${id}`, { method: 'DELETE' }) }
  }

  it.each([
    ['an hour back', -HOUR_MS],
    ['an hour ahead', HOUR_MS],
  ])(
    'of the services jump %s under load, also while Kafka is unavailable: all continues',
    async (what, jumpMs) => {
      const { fleet, broker } = await setUp(jumpMs)
      const pipeline = await fleet.startPipeline()
      const management = await fleet.start('management-api')
      const { gateway } = pipeline
      const { key, revoke } = await makeKey(fleet, management)
      const track = async () => {
        const response = await gateway.request('/api/v1/t', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
          body: JSON.stringify({ eventName: 'page_view', visitorId: 'v', eventId: 'jumped' }),
        })
        return response.status
      }
      await eventually('the key is known', async () => (await track()) === 202)
      const { stop } = startLoad({ name: 'jumping', send: gateway.request })
      await sleep(1_000)
      // The circuit breaker is open when the clock jumps.
      await docker('pause', broker)
      await sleep(6_000)
      jump(pipeline)
      await docker('unpause', broker)
      // For the clock, the key was read an hour ago, or will be in an hour.
      expect((await revoke()).status).toBe(204)
      await eventually('the key is refused', async () => (await track()) === 401, REVOKED_MS)
      // Longer than the session timeout of a consumer group.
      await sleep(extent(10_000, 30_000))
      const load = await stop()
      await expectStoredOnce(fleet, load, `the clocks of the services jump ${what} while Kafka hangs`)
      const kafka = await openKafka(fleet)
      for (const [group, topic] of [
        ['enrichment', 'ingest.records.v1'],
        ['persistence', 'events.enriched.v1'],
      ] as const)
        await eventually(`${group} is through`, async () => (await kafka.lag(group, topic)) === 0)
      await kafka.close()
      const rejoined = pipeline.persistence.output().match(/Consuming from Kafka failed/g)?.length ?? 0
      report(`the clocks of the services jump ${what}`, {
        'times that persistence rejoined its groups': rejoined,
      })
      for (const replica of Object.values(pipeline)) expect(replica.isAlive()).toBe(true)
    },
    240_000,
  )

  it('of consumers jump an hour back before the first connection to Kafka: they continue', async () => {
    const { fleet, broker } = await setUp(-HOUR_MS)
    const gateway = await fleet.start('ingest-gateway')
    const { stop } = startLoad({ name: 'early', send: gateway.request })
    await sleep(1_000)
    const load = await stop()
    await docker('pause', broker)
    const consumers = {
      enrichment: await fleet.start('enrichment-consumer'),
      persistence: await fleet.start('persistence-consumer'),
    }
    jump(consumers)
    // They check the clock once a second.
    await sleep(2_500)
    await docker('unpause', broker)
    await expectStoredOnce(fleet, load, 'the clocks of consumers jump an hour back while they connect')
    for (const replica of Object.values(consumers)) expect(replica.isAlive()).toBe(true)
  }, 300_000)

  it('of the clients may be wrong by years', async () => {
    const { fleet } = await setUp(0)
    const pipeline = await fleet.startPipeline()
    const times = [
      '1970-01-01T00:00:00Z',
      '2014-05-17T10:05:03.123+09:00',
      '9999-12-31T23:59:59Z',
      '0001-01-01T00:00:00Z',
      '2026-02-30T00:00:00Z',
      'yesterday',
      '',
      '-271821-04-20T00:00:00Z',
    ]
    let n = 0
    const { stop } = startLoad({
      name: 'skewed',
      send: pipeline.gateway.request,
      fields: () => ({ clientTimestamp: times[n++ % times.length] }),
    })
    await sleep(2_000)
    await expectStoredOnce(fleet, await stop(), `clients whose clocks say ${times.length} odd times`)
  })
})
