import { ingestRecords, topics } from '@waymark/contracts/topics'
import { type Delivery, type EventBus, type Outcome, publishing } from '@waymark/event-bus'
import { anIngestRecord } from '@waymark/testing/unit'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { measureBus } from './measure-bus.ts'

type Handle = (batch: Delivery<unknown>[], signal: AbortSignal) => Promise<Outcome[] | undefined>

/** A bus that delivers a batch to its only subscription, and publishes unless it is unavailable. */
const createFakeBus = () => {
  let deliver: Handle | undefined
  const state = { away: false }
  const bus: EventBus = {
    ...publishing(async () => {
      if (state.away) throw new Error('away')
    }),
    subscribe: (subscription) => {
      deliver = subscription.handle as Handle
      return { start: async () => {}, stop: async () => {} }
    },
    readLag: async () => [],
    close: async () => {},
  }
  return {
    bus,
    state,
    deliver: (batch: Delivery<unknown>[]) => deliver?.(batch, new AbortController().signal),
  }
}

const accepted = (receivedAt: string): Delivery<unknown> => ({
  topic: ingestRecords.name,
  partition: 0,
  offset: 0n,
  key: 'key',
  value: { ...anIngestRecord(), receivedAt },
  headers: {},
})

it('starts its counters with 0, because the first value of a series is no increase', async () => {
  const registry = new Registry()
  const bus = measureBus(createFakeBus().bus, registry, Date.now)
  bus.subscribe({ group: 'test', topic: ingestRecords, handle: async () => undefined })
  const text = await registry.metrics()
  const labels = 'group="test",topic="ingest.records.v1"'
  for (const outcome of ['done', 'drop', 'dead'])
    expect(text).toContain(`waymark_handled_records_total{${labels},outcome="${outcome}"} 0\n`)
  for (const { name } of topics) {
    expect(text).toContain(`waymark_publish_duration_seconds_count{topic="${name}",outcome="failed"} 0\n`)
    expect(text).toContain(`waymark_published_records_total{topic="${name}"} 0\n`)
  }
})

it('measures size, age and outcomes of batches, and the time of publishing', async () => {
  const registry = new Registry()
  const fake = createFakeBus()
  const bus = measureBus(fake.bus, registry, () => Date.parse('2026-11-21T10:00:10Z'))
  let outcomes: Outcome[] | undefined
  bus.subscribe({ group: 'test', topic: ingestRecords, handle: async () => outcomes })
  const batch = [accepted('2026-11-21T10:00:00Z'), accepted('2026-11-21T10:00:09Z')]
  await fake.deliver(batch)
  outcomes = [{ kind: 'done' }, { kind: 'dead', reason: 'odd' }]
  expect(await fake.deliver(batch)).toBe(outcomes)
  const records = ['a', 'b'].map((key) => ({ key, value: anIngestRecord() }))
  await bus.publish(ingestRecords, records)
  fake.state.away = true
  await expect(bus.publish(ingestRecords, records)).rejects.toThrow('away')

  const text = await registry.metrics()
  const labels = 'group="test",topic="ingest.records.v1"'
  expect(text).toContain(`waymark_batch_records_sum{${labels}} 4\n`)
  expect(text).toContain(`waymark_batch_records_count{${labels}} 2\n`)
  expect(text).toContain(`waymark_handled_records_total{${labels},outcome="done"} 3\n`)
  expect(text).toContain(`waymark_handled_records_total{${labels},outcome="dead"} 1\n`)
  expect(text).toContain(`waymark_batch_age_seconds_sum{${labels}} 20\n`)
  expect(text).toMatch(
    /waymark_publish_duration_seconds_count\{topic="ingest.records.v1",outcome="failed"\} 1\n/,
  )
  expect(text).toContain('waymark_published_records_total{topic="ingest.records.v1"} 2\n')
})
