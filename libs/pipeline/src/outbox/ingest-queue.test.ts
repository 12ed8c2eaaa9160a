import { BUS_DEADLINE_MS, ENQUEUE_DEADLINE_MS, REQUEST_DEADLINE_MS } from '@waymark/contracts/request-budget'
import { ingestRecords } from '@waymark/contracts/topics'
import type { Database } from '@waymark/database'
import { BusUnavailableError, publishing } from '@waymark/event-bus'
import { anIngestRecord, createMemoryLog } from '@waymark/testing/unit'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createIngestQueue } from './ingest-queue.ts'

/** The time that a request may spend on its key and configuration before the queue, in ms. */
const BEFORE_MS = 1_000

const never = () => new Promise<never>(() => {})

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A queue on servers that keep connections open and never respond. */
const frozen = () =>
  createIngestQueue({
    bus: {
      ...publishing(never),
      subscribe: () => ({ start: async () => {}, stop: async () => {} }),
      readLag: async () => [],
      close: async () => {},
    },
    db: { pool: {} as Database['pool'], transaction: never },
    log: createMemoryLog(),
    now: () => Date.now(),
  })
const records = [{ key: 'a', value: anIngestRecord() }]

const settledAfter = async (outcome: Promise<void>, ms: number): Promise<unknown> => {
  let settled: unknown = 'waiting'
  outcome.then(
    () => {
      settled = 'done'
    },
    (error) => {
      settled = error
    },
  )
  await vi.advanceTimersByTimeAsync(ms)
  return settled
}

it('rejects a conversion at its deadline, and not before, when the bus does not answer', async () => {
  const outcome = frozen().enqueueOnBus(ingestRecords, records)
  expect(await settledAfter(outcome, BUS_DEADLINE_MS - 1)).toBe('waiting')
  expect(await settledAfter(outcome, 1)).toBeInstanceOf(BusUnavailableError)
})

it('rejects an event at its deadline, and not before, when neither bus nor spool accepts it', async () => {
  const outcome = frozen().enqueue(ingestRecords, records)
  expect(await settledAfter(outcome, ENQUEUE_DEADLINE_MS - 1)).toBe('waiting')
  expect(await settledAfter(outcome, 1)).toBeInstanceOf(BusUnavailableError)
})

it('rejects before the deadline of the request', () => {
  expect(BEFORE_MS + Math.max(BUS_DEADLINE_MS, ENQUEUE_DEADLINE_MS)).toBeLessThan(REQUEST_DEADLINE_MS)
})

it('lets one request at a time wait for a database that hangs with a backlog in the spool', async () => {
  const backlog = { newest: '1', spooled: '1', waited_ms: 60_000 }
  let hangs = true
  let spooled = 0
  const queue = createIngestQueue({
    bus: {
      ...publishing(async () => {}),
      subscribe: () => ({ start: async () => {}, stop: async () => {} }),
      readLag: async () => [],
      close: async () => {},
    },
    db: {
      pool: { query: async () => ({ rows: [backlog] }) } as unknown as Database['pool'],
      transaction: (async () => {
        if (hangs) await never()
        spooled += 1
      }) as Database['transaction'],
    },
    log: createMemoryLog(),
    now: () => Date.now(),
  })
  await queue.watchSpool()
  const settledAtOnce = async (): Promise<number> => {
    let settled = 0
    for (let n = 0; n < 5; n++) void queue.enqueue(ingestRecords, records).then(() => (settled += 1))
    await vi.advanceTimersByTimeAsync(10)
    return settled
  }
  // Nobody knows yet that it hangs.
  expect(await settledAtOnce()).toBe(0)
  await vi.advanceTimersByTimeAsync(3_500)
  for (let pause = 0; pause < 3; pause++) {
    expect(await settledAtOnce()).toBe(4)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await settledAtOnce()).toBe(5)
    await vi.advanceTimersByTimeAsync(2_600)
  }
  hangs = false
  expect(await settledAtOnce()).toBe(5)
  expect(spooled).toBe(1)
  expect(await settledAtOnce()).toBe(5)
  expect(spooled).toBe(6)
})
