import { topics } from '@waymark/contracts/topics'
import { type Delivery, type EventBus, type Outcome, publishing } from '@waymark/event-bus'
import { Counter, Histogram, type Registry } from 'prom-client'

/** What a group can do with a record. */
const OUTCOMES: readonly Outcome['kind'][] = ['done', 'drop', 'dead']
const SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 5, 20, 60, 300]

/**
 * Adds metrics to a bus. Counters start with 0, because Prometheus sees no increase in the first value of a series. `now`
 * is in ms since the epoch.
 */
export const measureBus = (bus: EventBus, registry: Registry, now: () => number): EventBus => {
  const registers = [registry]
  const published = new Histogram({
    name: 'waymark_publish_duration_seconds',
    help: 'Time until published records were durable, or dropped',
    labelNames: ['topic', 'outcome'],
    buckets: [0.002, 0.005, 0.02, 0.1, 0.5, 1, 5],
    registers,
  })
  const publishedRecords = new Counter({
    name: 'waymark_published_records_total',
    help: 'Records that the bus acknowledged',
    labelNames: ['topic'],
    registers,
  })
  for (const { name: topic } of topics) {
    published.zero({ topic, outcome: 'failed' })
    publishedRecords.inc({ topic }, 0)
  }
  const batches = new Histogram({
    name: 'waymark_batch_records',
    help: 'Records in one delivery to a group',
    labelNames: ['group', 'topic'],
    buckets: [1, 5, 20, 100, 250, 500],
    registers,
  })
  const durations = new Histogram({
    name: 'waymark_batch_duration_seconds',
    help: 'Time of a group to process the records of one delivery',
    labelNames: ['group', 'topic', 'outcome'],
    buckets: SECONDS,
    registers,
  })
  const ages = new Histogram({
    name: 'waymark_batch_age_seconds',
    help: 'Time from the acceptance of the oldest record of a batch until the group had handled it',
    labelNames: ['group', 'topic'],
    buckets: SECONDS,
    registers,
  })
  const handled = new Counter({
    name: 'waymark_handled_records_total',
    help: 'Records by what a group did with them',
    labelNames: ['group', 'topic', 'outcome'],
    registers,
  })

  return {
    ...publishing(async (topic, records) => {
      const observe = published.startTimer({ topic: topic.name })
      try {
        await bus.publishSerialized(topic, records)
        observe({ outcome: 'done' })
        publishedRecords.inc({ topic: topic.name }, records.length)
      } catch (error) {
        observe({ outcome: 'failed' })
        throw error
      }
    }),
    subscribe: (subscription) => {
      const labels = { group: subscription.group, topic: subscription.topic.name }
      for (const outcome of OUTCOMES) handled.inc({ ...labels, outcome }, 0)
      for (const outcome of ['done', 'failed']) durations.zero({ ...labels, outcome })
      return bus.subscribe({
        ...subscription,
        handle: async (batch, signal) => {
          batches.observe(labels, batch.length)
          const observe = durations.startTimer(labels)
          try {
            const outcomes = await subscription.handle(batch, signal)
            observe({ outcome: 'done' })
            for (const [outcome, count] of countOutcomes(outcomes, batch.length))
              handled.inc({ ...labels, outcome }, count)
            const acceptedAt = acceptedAtMs(batch[0])
            if (acceptedAt !== undefined) ages.observe(labels, Math.max(0, now() - acceptedAt) / 1000)
            return outcomes
          } catch (error) {
            observe({ outcome: 'failed' })
            throw error
          }
        },
      })
    },
    readLag: (groups) => bus.readLag(groups),
    close: () => bus.close(),
  }
}

const countOutcomes = (outcomes: Outcome[] | undefined, size: number): Map<Outcome['kind'], number> => {
  const counts = new Map<Outcome['kind'], number>()
  for (const { kind } of outcomes ?? []) if (kind !== 'done') counts.set(kind, (counts.get(kind) ?? 0) + 1)
  const others = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return counts.set('done', size - others)
}

/** When the gateway received the record, in ms since the epoch. Not every record has it. */
const acceptedAtMs = (delivery: Delivery<unknown> | undefined): number | undefined => {
  const { receivedAt } = Object(delivery?.value) as { receivedAt?: unknown }
  const ms = typeof receivedAt === 'string' ? Date.parse(receivedAt) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
