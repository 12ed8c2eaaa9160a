import { ingestRecords } from '@waymark/contracts/topics'
import { classifyStoreError } from '@waymark/database'
import { createKafkaEventBus, type EventBus } from '@waymark/event-bus'
import { createLog } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { Benchmark, Contender } from './benchmark.ts'
import { aRecord, outgoing } from './events.ts'
import { createPlatformaticBus } from './platformatic-bus.ts'
import { startServers } from './servers.ts'

const PUBLISHERS = 64
const AT_ONCE = 20
const CONSUMED = 100_000
const CONSUMED_QUICK = 20_000

const figures = (records: number, start: number, cpu: NodeJS.CpuUsage) => {
  const { user, system } = process.cpuUsage(cpu)
  return {
    perSecond: records / ((performance.now() - start) / 1_000),
    cpuMicros: (user + system) / records,
    p99Ms: null,
    peakRssMb: null,
  }
}

const someRecords = (projectId: string, count: number) =>
  Array.from({ length: count }, () => outgoing(aRecord(projectId)))

const publishing = (bus: EventBus, projectId: string): Contender => {
  const records = someRecords(projectId, AT_ONCE)
  return {
    run: async (seconds) => {
      const cpu = process.cpuUsage()
      const start = performance.now()
      let published = 0
      const work = async (): Promise<void> => {
        while (performance.now() - start < seconds * 1_000) {
          await bus.publish(ingestRecords, records)
          published += records.length
        }
      }
      await Promise.all(Array.from({ length: PUBLISHERS }, work))
      return figures(published, start, cpu)
    },
    stop: () => bus.close(),
  }
}

/** Each round has its own group, which starts at the oldest record. */
const consuming = (bus: EventBus, count: number): Contender => ({
  run: async () => {
    const done = Promise.withResolvers<void>()
    let consumed = 0
    const consumer = bus.subscribe({
      group: uuidv7(),
      topic: ingestRecords,
      handle: async (batch) => {
        consumed += batch.length
        if (consumed >= count) done.resolve()
        return undefined
      },
    })
    const cpu = process.cpuUsage()
    const start = performance.now()
    await consumer.start()
    await done.promise
    const measured = figures(consumed, start, cpu)
    await consumer.stop()
    return measured
  },
  stop: () => bus.close(),
})

const both = (brokers: string[]) => ({
  ours: createKafkaEventBus(
    { brokers, clientId: 'bench-kafkajs' },
    { log: createLog('bench', 'error'), classifyError: classifyStoreError },
  ),
  other: createPlatformaticBus(brokers),
})

/**
 * kafkajs, as we use it, compared with `@platformatic/kafka` through the same port: 64 publishers of 20 records each,
 * and a group that reads a topic from the beginning. It has no goal; ADR 17 explains the figures.
 */
export const kafkaClientBenchmarks: readonly Benchmark[] = [
  {
    name: 'kafka-publish',
    unit: 'records',
    goal: 0,
    prepare: async (options) => {
      const { brokers, projectId, dispose } = await startServers(options)
      const { ours, other } = both(brokers)
      return { ours: publishing(ours, projectId), baseline: publishing(other, projectId), dispose }
    },
  },
  {
    name: 'kafka-consume',
    unit: 'records',
    goal: 0,
    prepare: async (options) => {
      const { brokers, projectId, dispose } = await startServers(options)
      const { ours, other } = both(brokers)
      const count = options.quick ? CONSUMED_QUICK : CONSUMED
      for (let sent = 0; sent < count; sent += 1_000)
        await ours.publish(ingestRecords, someRecords(projectId, 1_000))
      return { ours: consuming(ours, count), baseline: consuming(other, count), dispose }
    },
  },
]
