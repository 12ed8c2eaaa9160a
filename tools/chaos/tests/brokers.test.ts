import { setTimeout as sleep } from 'node:timers/promises'
import {
  docker,
  extent,
  freePort,
  requireServices,
  services,
  startKafka,
  startKafkaCluster,
  startTcpProxy,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { DEADLINE_MS } from './durations.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'
import { openKafka } from './kafka-admin.ts'
import { slowestMs, startLoad } from './load.ts'

const DOWN_MS = extent(4_000, 20_000)

describe.skipIf(!services)('three brokers', () => {
  let cluster: Awaited<ReturnType<typeof startKafkaCluster>>
  let fleet: Fleet
  let gateway: Replica
  beforeAll(async () => {
    cluster = await startKafkaCluster()
    fleet = await createFleet(
      { ...requireServices(), kafkaBrokers: cluster.brokers },
      { KAFKA_REPLICATION: '3', KAFKA_PARTITIONS: '6' },
    )
    gateway = (await fleet.startPipeline()).gateway
  }, 240_000)
  afterAll(async () => {
    await fleet?.stop()
    await cluster?.stop()
  })

  it('are restarted one by one under load without loss', async () => {
    const { stop } = startLoad({ name: 'rolling', send: gateway.request })
    for (const container of cluster.containers) {
      await sleep(1_000)
      await docker('stop', '--time', '10', container.getId())
      await sleep(DOWN_MS)
      await docker('start', container.getId())
      // Like a rolling restart: the next one only after this one has caught up.
      await sleep(8_000)
    }
    const load = await stop()
    await expectStoredOnce(fleet, load, `three brokers restarted one by one, each ${DOWN_MS / 1000} s away`)
    expect(slowestMs(load)).toBeLessThan(DEADLINE_MS)
  }, 300_000)

  it('change the leaders of partitions under load without loss', async () => {
    const kafka = await openKafka(fleet)
    const { stop } = startLoad({ name: 'leaders', send: gateway.request })
    await sleep(500)
    let moved = 0
    for (let round = 0; round < extent(1, 5); round++) {
      for (const topic of ['ingest.records.v1', 'events.enriched.v1']) moved += await kafka.moveLeaders(topic)
      await sleep(3_000)
    }
    const load = await stop()
    await kafka.close()
    await expectStoredOnce(fleet, load, `the leaders of ${moved} partitions moved`)
    expect(slowestMs(load)).toBeLessThan(DEADLINE_MS)
    expect(moved).toBeGreaterThan(0)
  }, 300_000)
})

describe.skipIf(!services)('a broker behind an unreliable network', () => {
  let kafka: Awaited<ReturnType<typeof startKafka>>
  let proxy: Awaited<ReturnType<typeof startTcpProxy>>
  let fleet: Fleet
  let gateway: Replica
  beforeAll(async () => {
    // The proxy and the broker must know each other's port before the broker starts.
    const port = await freePort()
    proxy = await startTcpProxy(`tcp://localhost:${port}`)
    kafka = await startKafka({ port, advertisedPort: proxy.port })
    fleet = await createFleet(
      { ...requireServices(), kafkaBrokers: kafka.brokers },
      { KAFKA_PARTITIONS: '6' },
    )
    gateway = (await fleet.startPipeline()).gateway
  }, 240_000)
  afterAll(async () => {
    await fleet?.stop()
    await proxy?.stop()
    await kafka?.container.stop({ timeout: 0 })
  })

  const stored = async (topic: string): Promise<number> => {
    const admin = await openKafka(fleet)
    const ends = await admin.ends(topic)
    await admin.close()
    return [...ends.values()].reduce((sum, end) => sum + Number(end), 0)
  }

  it('stores what is repeated because the acknowledgement was lost once', async () => {
    const { stop } = startLoad({ name: 'unacknowledged', send: gateway.request })
    for (let n = 0; n < extent(2, 8); n++) {
      await sleep(1_000)
      proxy.swallowAnswers()
      await sleep(extent(2_000, 8_000))
      await proxy.restore()
    }
    await sleep(1_000)
    const load = await stop()
    await expectStoredOnce(fleet, load, 'the acknowledgements of Kafka dropped')
    const records = await stored('ingest.records.v1')
    report('the acknowledgements of Kafka dropped', {
      'records in the topic': records,
      'of these repeats': records - load.sent.length,
    })
    // Otherwise the test would prove nothing.
    expect(records).toBeGreaterThan(load.sent.length)
    expect(slowestMs(load)).toBeLessThan(DEADLINE_MS)
  }, 300_000)

  const faults = {
    'falls silent on connections that stay open': () => proxy.freeze(),
    'is slow: 4 kB/s and 200 ms late': () => proxy.slowDown({ bytesPerSecond: 4_096, latencyMs: 200 }),
    'breaks every connection': () => proxy.cut(),
  }
  it.each(Object.entries(faults))(
    '%s, and nothing is lost',
    async (name, begin) => {
      const { stop } = startLoad({ name: `network-${name.length}`, send: gateway.request })
      await sleep(1_000)
      await begin()
      await sleep(extent(8_000, 20_000))
      await proxy.restore()
      await sleep(3_000)
      const load = await stop()
      await expectStoredOnce(fleet, load, `the way to Kafka ${name}`)
      expect(slowestMs(load)).toBeLessThan(DEADLINE_MS)
    },
    300_000,
  )
})
