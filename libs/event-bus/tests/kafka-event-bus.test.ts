import { randomBytes } from 'node:crypto'
import { deadLetters } from '@waymark/contracts'
import { createMemoryLog, requireServices, services } from '@waymark/testing'
import kafkajs from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { createKafkaEventBus, ensureKafkaTopics, type KafkaOptions } from '../src/kafka/kafka-event-bus.ts'
import { BusUnavailableError } from '../src/port.ts'
import { describeEventBus, numbered } from './event-bus-contract.ts'

const options = (): KafkaOptions => ({
  brokers: requireServices().kafkaBrokers,
  clientId: 'test',
  topicPrefix: `t${randomBytes(6).toString('hex')}.`,
  sessionTimeoutMs: 10_000,
})

const createHarness = async () => {
  const own = options()
  await ensureKafkaTopics(own, [numbered, deadLetters], { partitions: 6, replication: 1 }, createMemoryLog())
  const raw = new kafkajs.Kafka({ brokers: own.brokers, logLevel: kafkajs.logLevel.NOTHING }).producer()
  await raw.connect()
  return {
    open: async () => createKafkaEventBus(own, createMemoryLog()),
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

  it('rejects within its deadline when no broker answers', async () => {
    const bus = createKafkaEventBus(
      { brokers: ['localhost:1'], clientId: 'test', publishDeadlineMs: 500 },
      createMemoryLog(),
    )
    await expect(bus.publish(numbered, [{ key: 'ann', value: { n: 1, person: 'ann' } }])).rejects.toThrow(
      BusUnavailableError,
    )
    await bus.close()
  })
})
