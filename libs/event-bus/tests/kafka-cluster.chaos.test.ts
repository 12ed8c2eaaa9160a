import { setTimeout as sleep } from 'node:timers/promises'
import {
  createMemoryLog,
  docker,
  eventually,
  pauseServer,
  services,
  startKafkaCluster,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKafkaEventBus } from '../src/kafka/kafka-event-bus.ts'
import { ensureKafkaTopics } from '../src/kafka/kafka-topics.ts'
import { BusUnavailableError, type EventBus } from '../src/port.ts'
import { busDeps } from './bus-deps.ts'
import { numbered } from './event-bus-contract.ts'

describe.skipIf(!services)('three brokers, of which one at a time fails under load', () => {
  let cluster: Awaited<ReturnType<typeof startKafkaCluster>>
  let bus: EventBus
  const seen = new Set<number>()

  beforeAll(async () => {
    cluster = await startKafkaCluster()
    const options = { brokers: cluster.brokers, clientId: 'test', sessionTimeoutMs: 6_000 }
    await ensureKafkaTopics(options, [numbered], { partitions: 12, replication: 3 }, createMemoryLog())
    bus = createKafkaEventBus(options, busDeps())
    const consumer = bus.subscribe({
      group: 'all',
      topic: numbered,
      handle: async (batch) => {
        for (const { value } of batch) seen.add(value.n)
        return undefined
      },
    })
    await consumer.start()
    stops.push(() => consumer.stop())
  })
  const stops: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    for (const stop of stops) await stop()
    await bus?.close()
    await cluster?.stop()
  })

  let next = 0
  /** Publishes records of many keys in sequence until stopped. Returns which were acknowledged. */
  const startLoad = () => {
    const acknowledged: number[] = []
    const refused: number[] = []
    let going = true
    const senders = Array.from({ length: 12 }, async () => {
      while (going) {
        const n = next++
        const person = `person ${n}`
        try {
          await bus.publish(numbered, [{ key: person, value: { n, person } }])
          acknowledged.push(n)
        } catch (error) {
          expect(error).toBeInstanceOf(BusUnavailableError)
          refused.push(n)
        }
        await sleep(5)
      }
    })
    return {
      acknowledged,
      stop: async () => {
        going = false
        await Promise.all(senders)
        return { acknowledged, refused }
      },
    }
  }
  const allSeen = (numbers: readonly number[]) =>
    eventually('everything acknowledged is delivered', () => numbers.every((n) => seen.has(n)))

  it('delivers acknowledged records when each is killed and restarted', async () => {
    const load = startLoad()
    for (const container of cluster.containers) {
      await sleep(1_000)
      await docker('kill', container.getId())
      await sleep(4_000)
      await docker('start', container.getId())
      // Like a rolling restart: the next one only after this one has caught up.
      await sleep(8_000)
    }
    const { acknowledged, refused } = await load.stop()
    await allSeen(acknowledged)
    process.stdout.write(
      `each of three brokers killed: ${acknowledged.length} acknowledged, ${refused.length} refused, 0 missing\n`,
    )
  })

  it('accepts every key again when the others lead the partitions of a hung broker, without loss', async () => {
    const load = startLoad()
    await sleep(1_000)
    const [frozen] = cluster.containers
    if (!frozen) throw new Error('there is no broker')
    const unpause = await pauseServer(frozen)
    try {
      const publish = (person: string) =>
        bus.publish(numbered, [{ key: person, value: { n: next++, person } }])
      // The cluster takes 9 s or more to detect it. Until then every partition waits for this replica.
      await eventually('the others lead its partitions: any key is taken', async () => {
        await Promise.all(Array.from({ length: 50 }, (_, n) => publish(`after the move ${n}`)))
        return true
      })
    } finally {
      await unpause()
    }
    await sleep(2_000)
    const { acknowledged, refused } = await load.stop()
    await allSeen(acknowledged)
    process.stdout.write(
      `one of three brokers frozen: ${acknowledged.length} acknowledged, ${refused.length} refused, 0 missing\n`,
    )
  })
})
