import type { Exposure } from '@waymark/contracts/records/change-records'
import { exposures } from '@waymark/contracts/topics'
import { BusUnavailableError, type OutgoingRecord } from '@waymark/event-bus'
import { createMemoryLog, eventually } from '@waymark/testing/unit'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createBackgroundPublisher } from './background-publisher.ts'

const away = new BusUnavailableError('away')
const databaseAway = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })

const record = (n: number): OutgoingRecord<Exposure> => ({
  key: `${n}`,
  value: {
    v: 1,
    projectId: '01900000-0000-7000-8000-000000000001',
    decisionId: '01900000-0000-7000-8000-000000000002',
    decisionKey: 'd',
    version: 1,
    variant: 'on',
    reason: 'SPLIT',
    ruleId: 'r',
    subject: 'v',
    visitorId: 'v',
    userId: null,
    profileId: null,
    exposedAt: '2026-11-21T12:00:00.000Z',
  },
})

/** A running publisher on a bus and a database that fail depending on `faults`. */
const setUp = ({ maxWaiting = 20_000 } = {}) => {
  const faults: { bus?: Error | undefined; database?: Error | undefined } = {}
  const published: string[][] = []
  const spooled: unknown[][] = []
  const stop = new AbortController()
  const log = createMemoryLog()
  const publisher = createBackgroundPublisher({
    topic: exposures,
    lane: 'test',
    bus: {
      publish: async (_topic, records) => {
        if (faults.bus) throw faults.bus
        published.push(records.map(({ key }) => key))
      },
    },
    db: {
      transaction: async (run) => {
        if (faults.database) throw faults.database
        const query = async ({ values }: { values: unknown[][] }) => spooled.push(values[2] ?? [])
        return run({ query } as never, async () => {})
      },
    },
    log,
    lingerMs: 1,
    maxWaiting,
  })
  const running = publisher.run(stop.signal)
  const end = async () => {
    stop.abort()
    await running
  }
  onTestFinished(end)
  return { ...publisher, faults, published, spooled, end, log }
}

describe('the background publisher', () => {
  it('publishes added records in order, in batches', async () => {
    const { add, published } = setUp()
    for (let n = 0; n < 1_500; n++) expect(add(record(n))).toBe(true)
    await eventually('all are published', () => published.flat().length === 1_500)
    expect(published.flat()).toEqual(Array.from({ length: 1_500 }, (_, n) => `${n}`))
    expect(published).toHaveLength(2)
  })

  it('writes records to the outbox while the bus is unavailable', async () => {
    const { add, faults, published, spooled } = setUp()
    faults.bus = away
    add(record(1))
    await eventually('it is spooled', () => spooled.length === 1)
    expect(spooled).toEqual([['1']])
    faults.bus = undefined
    add(record(2))
    await eventually('the next is published', () => published.length === 1)
    expect(published).toEqual([['2']])
  })

  it('keeps records in memory while the database is unavailable as well, up to a limit', async () => {
    const { add, faults, published, log } = setUp({ maxWaiting: 2 })
    Object.assign(faults, { bus: away, database: databaseAway })
    expect([add(record(1)), add(record(2)), add(record(3))]).toEqual([true, true, false])
    await eventually('it says so', () => log.lines.length > 0)
    Object.assign(faults, { bus: undefined, database: undefined })
    await eventually('the rest is published', () => published.length === 1)
    expect(published).toEqual([['1', '2']])
  })

  it('continues after records that cannot be published', async () => {
    const { add, faults, published, log } = setUp()
    faults.bus = new Error('a bug')
    add(record(1))
    await eventually('it is given up', () => log.lines.some(({ level }) => level === 'error'))
    faults.bus = undefined
    add(record(2))
    await eventually('the next is published', () => published.length === 1)
    expect(published).toEqual([['2']])
  })

  it('publishes the remaining records when it stops', async () => {
    const { add, published, end } = setUp()
    add(record(1))
    await end()
    expect(published.flat()).toEqual(['1'])
  })
})
