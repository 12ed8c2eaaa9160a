import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { deadLetters } from '@waymark/contracts/topics'
import {
  createMemoryLog,
  eventually,
  freePort,
  requireServices,
  services,
  startKafka,
  startTcpProxy,
} from '@waymark/testing'
import kafkajs from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createKafkaEventBus, type KafkaOptions } from '../src/kafka/kafka-event-bus.ts'
import { ensureKafkaTopics } from '../src/kafka/kafka-topics.ts'
import { BusUnavailableError } from '../src/port.ts'
import { busDeps } from './bus-deps.ts'
import { describeEventBus, numbered } from './event-bus-contract.ts'

const options = (): KafkaOptions => ({
  brokers: requireServices().kafkaBrokers,
  clientId: 'test',
  topicPrefix: `t${randomBytes(6).toString('hex')}.`,
  sessionTimeoutMs: 10_000,
})

const createHarness = async () => {
  // So long that a busy broker does not reach it.
  const own = { ...options(), publishDeadlineMs: 60_000 }
  await ensureKafkaTopics(own, [numbered, deadLetters], { partitions: 6, replication: 1 }, createMemoryLog())
  const raw = new kafkajs.Kafka({ brokers: own.brokers, logLevel: kafkajs.logLevel.NOTHING }).producer()
  await raw.connect()
  return {
    open: async () => createKafkaEventBus(own, busDeps()),
    publishRaw: async (topic: string, key: string, value: string) => {
      await raw.send({ topic: `${own.topicPrefix}${topic}`, messages: [{ key, value }] })
    },
    dispose: () => raw.disconnect(),
  }
}

describe.skipIf(!services)('the event bus on Kafka', () => {
  describeEventBus(createHarness)

  it('creates topics once', async () => {
    const own = options()
    const create = () =>
      ensureKafkaTopics(own, [numbered], { partitions: 3, replication: 1 }, createMemoryLog())
    await create()
    await expect(create()).resolves.toBeUndefined()
  })

  it('gives existing topics the settings of their contract, and keeps those that others have made', async () => {
    const own = options()
    const log = createMemoryLog()
    const name = `${own.topicPrefix}${numbered.name}`
    const admin = new kafkajs.Kafka({ brokers: own.brokers, logLevel: kafkajs.logLevel.NOTHING }).admin()
    await admin.connect()
    onTestFinished(() => admin.disconnect())
    const type = kafkajs.ConfigResourceTypes.TOPIC
    const configNames = [
      'retention.ms',
      'retention.bytes',
      'max.message.bytes',
      'segment.bytes',
      'segment.ms',
    ]
    const settings = async () => {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type, name, configNames }],
      })
      const entries = resources[0]?.configEntries ?? []
      return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]))
    }
    await ensureKafkaTopics(own, [numbered], { partitions: 1, replication: 1 }, log)
    const before = await settings()
    expect(before).toMatchObject({ 'retention.ms': `${numbered.retentionMs}`, 'retention.bytes': '-1' })
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type, name, configEntries: [{ name: 'segment.ms', value: '3600000' }] }],
    })
    // The brokers know a change a moment after it was accepted.
    const become = (wanted: Record<string, string>) =>
      eventually('the brokers know the settings', async () => {
        expect(await settings()).toMatchObject(wanted)
        return true
      })
    await become({ 'segment.ms': '3600000' })
    const changed = { ...numbered, retentionMs: 120_000, maxMessageBytes: 2_000_000 }
    await ensureKafkaTopics(own, [changed], { partitions: 1, replication: 1, retentionBytes: 5_000_000 }, log)
    const after = {
      'retention.ms': '120000',
      // Together the 5,000,000 bytes, because a partition is up to one segment larger than its retention.
      'retention.bytes': '3000000',
      'segment.bytes': '2000000',
      'max.message.bytes': '2000000',
      'segment.ms': '3600000',
    }
    await become(after)
    expect(await settings()).toEqual(after)
    const changes = () => log.lines.filter(({ message }) => message.startsWith('Changing settings')).length
    expect(changes()).toBe(1)
    await ensureKafkaTopics(own, [changed], { partitions: 1, replication: 1 }, log)
    expect(await settings()).toEqual(after)
    expect(changes()).toBe(1)
    const larger = { partitions: 1, replication: 1, retentionBytes: 800_000_000 }
    await ensureKafkaTopics(own, [changed], larger, log)
    const enlarged = { ...after, 'retention.bytes': '700000000', 'segment.bytes': '100000000' }
    await become(enlarged)
    expect(await settings()).toEqual(enlarged)
    const smallest = { ...larger, retentionBytes: 1 }
    await ensureKafkaTopics(own, [changed], smallest, log)
    await become({ 'retention.bytes': '0', 'segment.bytes': '2000000' })
  })

  it("reports the lag of a group on each partition, until the partition is another consumer's", async () => {
    const own = options()
    await ensureKafkaTopics(own, [numbered], { partitions: 2, replication: 1 }, createMemoryLog())
    const open = () => {
      const lag = new Map<number, number | undefined>()
      const reported: number[] = []
      const onLag = ({ partition }: { partition: number }, records: number | undefined): void => {
        lag.set(partition, records)
        if (records !== undefined) reported.push(records)
      }
      const bus = createKafkaEventBus({ ...own, onLag }, busDeps())
      const consumer = bus.subscribe({ group: 'test', topic: numbered, handle: async () => undefined })
      const close = async () => {
        await consumer.stop()
        await bus.close()
      }
      return { lag, reported, bus, consumer, close }
    }
    const first = open()
    const records = Array.from({ length: 20 }, (_, n) => ({ key: `${n}`, value: { n, person: `${n}` } }))
    await first.bus.publish(numbered, records)
    await first.consumer.start()
    await eventually('both are handled', () => first.lag.get(0) === 0 && first.lag.get(1) === 0)
    // The number of waiting records when the first batches arrived.
    expect(Math.max(...first.reported)).toBeGreaterThan(0)

    const second = open()
    await second.consumer.start()
    const others = (): number[] => [0, 1].filter((partition) => first.lag.get(partition) === undefined)
    await eventually('one partition is handed over', () => others().length === 1)
    await Promise.all([first.close(), second.close()])
  })

  describe.each([
    { what: 'refuses connections', listens: false },
    { what: 'hangs', listens: true },
  ])('beside a broker that $what', ({ listens }) => {
    it('starts with another one', async () => {
      const server = createServer((socket) => void socket.on('error', () => {}).resume())
      server.listen(0)
      await once(server, 'listening')
      const broken = `localhost:${(server.address() as AddressInfo).port}`
      if (!listens) server.close()
      const own = options()
      own.brokers = [broken, ...own.brokers]
      await ensureKafkaTopics(own, [numbered], { partitions: 1, replication: 1 }, createMemoryLog())
      // The first broker is random, so many clients start at once.
      const begin = async (n: number): Promise<void> => {
        const bus = createKafkaEventBus(own, busDeps())
        const received = new Set<number>()
        const consumer = bus.subscribe({
          group: `group ${n}`,
          topic: numbered,
          handle: async (batch) => {
            for (const { value } of batch) received.add(value.n)
            return undefined
          },
        })
        await consumer.start()
        // On a busy machine the first attempt may reach its deadline.
        await eventually('records are taken', async () => {
          await bus.publish(numbered, [{ key: 'ann', value: { n, person: 'ann' } }])
          return true
        })
        await eventually(`group ${n} receives what was published`, () => received.has(n))
        await consumer.stop()
        await bus.close()
      }
      await Promise.all(Array.from({ length: 8 }, (_, n) => begin(n)))
      server.close()
    })
  })

  it('rejects within its deadline when no broker answers', async () => {
    const bus = createKafkaEventBus(
      { brokers: ['localhost:1'], clientId: 'test', publishDeadlineMs: 500 },
      busDeps(),
    )
    await expect(bus.publish(numbered, [{ key: 'ann', value: { n: 1, person: 'ann' } }])).rejects.toThrow(
      BusUnavailableError,
    )
    await expect(bus.readLag([{ group: 'test', topic: numbered }])).rejects.toThrow(BusUnavailableError)
    await bus.close()
  })
})

describe.skipIf(!services)('Kafka behind a network that breaks every connection briefly', () => {
  let proxy: Awaited<ReturnType<typeof startTcpProxy>>
  let kafka: Awaited<ReturnType<typeof startKafka>>
  beforeAll(async () => {
    // The proxy and the broker must know each other's port before the broker starts.
    const port = await freePort()
    proxy = await startTcpProxy(`tcp://localhost:${port}`)
    const settings = { KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS: '1000' }
    kafka = await startKafka({ port, advertisedPort: proxy.port, settings })
  })
  afterAll(async () => {
    await kafka?.container.stop({ timeout: 0 })
    await proxy?.stop()
  })

  it('has no connection after a consumer has stopped', async () => {
    // The group waits so long for a member whose connection broke.
    const own = { brokers: kafka.brokers, clientId: 'test', sessionTimeoutMs: 3_000 }
    await ensureKafkaTopics(own, [numbered], { partitions: 1, replication: 1 }, createMemoryLog())
    const bus = createKafkaEventBus(own, busDeps())
    const received = new Set<number>()
    const consumer = bus.subscribe({
      group: 'test',
      topic: numbered,
      handle: async (batch) => {
        for (const { value } of batch) received.add(value.n)
        return undefined
      },
    })
    await consumer.start()
    for (let n = 0; n < 4; n++) {
      if (n > 0) proxy.reset()
      // With a broken connection, an attempt may reach its deadline on a busy machine.
      await eventually('it is taken', async () => {
        await bus.publish(numbered, [{ key: 'ann', value: { n, person: 'ann' } }])
        return true
      })
      await eventually('it is received', () => received.has(n))
    }
    await consumer.stop()
    await bus.close()
    await eventually('nothing is left open', () => proxy.open() === 0)
  })
})
