import { createMemoryCache } from '@waymark/cache'
import {
  AppError,
  type CompactRecord,
  type IngestRecord,
  ingestRecords,
  type Topic,
} from '@waymark/contracts'
import { compileDecision, createDecisionSet, ingestRecordFrom } from '@waymark/domain'
import { BusUnavailableError, type OutgoingRecord, textOfKey } from '@waymark/event-bus'
import type { IngestQueue } from '@waymark/pipeline'
import type { ProjectConfig } from '@waymark/project-config'
import { describe, expect, it } from 'vitest'
import { createIntake, type Sender } from './intake.ts'
import { createTrackEvents } from './track-events.ts'

const NOW_MS = Date.parse('2026-11-21T04:00:00.000Z')
const PROJECT_ID = '01900000-0000-7000-8000-000000000001'
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const browser: Sender = {
  projectId: PROJECT_ID,
  validationMode: null,
  speaksForOthers: false,
  ip: '203.0.113.77',
  userAgent: 'Browser/1',
}
const server: Sender = { ...browser, speaksForOthers: true }

/** A gateway on fakes that remember what they were given; `fault` is what they throw. */
const setUp = ({ fault }: { fault?: Error } = {}) => {
  const faults: { afterStoring?: Error; givenUp?: boolean } = {}
  const published: OutgoingRecord<unknown>[] = []
  const processed: IngestRecord[] = []
  const publish = async <T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]) => {
    if (records.length === 0) return
    expect(topic.name).toBe(ingestRecords.name)
    if (fault) throw fault
    published.push(
      ...records.map((record) => ({ ...record, value: ingestRecordFrom(record.value as CompactRecord) })),
    )
  }
  const queue: IngestQueue = {
    enqueue: publish,
    enqueueSerialized: async () => {},
    enqueueOnBus: publish,
    watchSpool: async () => {},
  }
  const config: ProjectConfig = {
    projectId: PROJECT_ID,
    settings: {},
    checkFor: () => () => [],
    selectorsFor: () => [],
    triggersFor: () => [],
    decisions: createDecisionSet([], compileDecision),
  }
  const intake = createIntake({
    projectConfigs: { get: async () => config },
    cache: createMemoryCache(),
    clock: () => NOW_MS,
  })
  const processAtOnce = async (records: readonly IngestRecord[]) => {
    if (fault) throw fault
    processed.push(...records)
    if (faults.afterStoring) throw faults.afterStoring
  }
  const trackEvents = createTrackEvents({ intake, queue, processAtOnce })
  const using =
    (path: 'enqueue' | 'process') =>
    (rawEvents: readonly unknown[], sender = browser, bodyBytes = 1_000, sentAt: string | null = null) =>
      trackEvents[path]({ rawEvents, sentAt }, sender, {
        bodyBytes,
        bodyDigest: () => 'digest',
        backfill: false,
        whenGivenUp: (then) => {
          if (faults.givenUp) then()
        },
      })
  return { published, processed, faults, enqueue: using('enqueue'), process: using('process') }
}

const good = { eventName: 'page_view', visitorId: 'visitor-1' }
const nameless = { visitorId: 'visitor-1' }
const visitorless = { eventName: 'page_view' }
const reasonOf = (promise: Promise<unknown>) =>
  promise.then(() => undefined).catch((error: AppError) => error)

describe('enqueue', () => {
  it('publishes every event under the key of its person, in order', async () => {
    const { enqueue, published } = setUp()
    const events = [
      { eventName: 'a', visitorId: 'v', userId: 'u' },
      { eventName: 'b', userId: 'u' },
      { eventName: 'c', eventId: 'order-1' },
    ]
    const result = await enqueue(events)
    expect(result).toEqual({ accepted: 3, failed: 0, queued: 3, processed: false })
    expect(published.map(({ key }) => textOfKey(key))).toEqual([
      `${PROJECT_ID}:v`,
      `${PROJECT_ID}:u`,
      `${PROJECT_ID}:order-1`,
    ])
    expect(published.map(({ value }) => (value as IngestRecord).event.eventName)).toEqual(['a', 'b', 'c'])
  })

  it('publishes what fits the topic, with the time of receipt and of sending', async () => {
    const { enqueue, published } = setUp()
    await enqueue([good, visitorless], browser, 1_000, '2026-11-21T03:59:58Z')
    for (const { value } of published) {
      expect(ingestRecords.validator.check(value)).toBeUndefined()
      expect(value).toMatchObject({
        projectId: PROJECT_ID,
        receivedAt: '2026-11-21T04:00:00.000Z',
        sentAt: '2026-11-21T03:59:58Z',
      })
    }
    expect(published).toHaveLength(2)
    expect(published[1]?.value).toMatchObject({ warnings: [{ rule: 'missing_visitor_id' }] })
  })

  it('gives an event without an id a UUIDv7 of its own', async () => {
    const { enqueue, published } = setUp()
    await enqueue([good, good, { ...good, eventId: 'mine' }])
    const [first, second, third] = published.map(({ value }) => (value as IngestRecord).event.eventId)
    expect(first).toMatch(UUID_V7)
    expect(second).toMatch(UUID_V7)
    expect(first).not.toBe(second)
    expect(third).toBe('mine')
  })

  it('lets the rest go on when an event is wrong', async () => {
    const { enqueue, published } = setUp()
    const result = await enqueue([nameless, good, 'text'])
    expect(result).toEqual({
      accepted: 1,
      failed: 2,
      queued: 1,
      processed: false,
      invalid: [
        { index: 0, rawSample: JSON.stringify(nameless), reason: 'eventName is required' },
        { index: 2, rawSample: '"text"', reason: 'the event must be object' },
      ],
    })
    expect(published).toHaveLength(1)
  })

  it('counts a doubtful event as accepted', async () => {
    expect(await setUp().enqueue([visitorless])).toEqual({
      accepted: 1,
      failed: 0,
      queued: 1,
      processed: false,
    })
  })

  it('measures events when the body is over 32 KiB', async () => {
    const large = { ...good, properties: { a: 'x'.repeat(32 * 1024) } }
    const result = await setUp().enqueue([large, good], browser, 32 * 1024 + 1)
    expect(result).toMatchObject({
      accepted: 1,
      invalid: [{ index: 0, reason: 'the event is larger than 32768 bytes' }],
    })
  })

  it('answers QUEUE_UNAVAILABLE when the queue does not confirm', async () => {
    const error = await reasonOf(setUp({ fault: new BusUnavailableError('no leader') }).enqueue([good]))
    expect(error).toMatchObject({
      code: 'queue_unavailable',
      message: 'QUEUE_UNAVAILABLE',
      details: { retryAfter: 60 },
    })
  })

  it('does not blame the queue for a fault of our own', async () => {
    const fault = new TypeError('a bug')
    expect(await reasonOf(setUp({ fault }).enqueue([good]))).toBe(fault)
  })
})

describe('process', () => {
  it('stores every event and touches no queue', async () => {
    const { process, processed, published } = setUp()
    const result = await process([good, { ...good, eventName: 'b' }])
    expect(result).toEqual({ accepted: 2, failed: 0, queued: 0, processed: true })
    expect(processed.map(({ event }) => event.eventName)).toEqual(['page_view', 'b'])
    expect(published).toEqual([])
  })

  it('tells what is wrong and what is doubtful, by event', async () => {
    const { process, processed } = setUp()
    const result = await process([visitorless, good, { eventName: 7 }])
    expect(result).toMatchObject({
      accepted: 2,
      failed: 1,
      queued: 0,
      processed: true,
      errors: [
        { index: 0, eventName: 'page_view', errors: [{ field: 'visitorId', rule: 'missing_visitor_id' }] },
        { index: 2, eventName: '', errors: [{ field: 'eventName', rule: 'structure' }] },
      ],
    })
    expect(result).not.toHaveProperty('invalid')
    expect(processed).toHaveLength(2)
  })

  it('gives the events of a repeated request the ids that the failed one had, and a new request new ones', async () => {
    const { process, processed, faults } = setUp()
    const away = new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter: 30 })
    // It was stored, and nobody heard of it.
    faults.afterStoring = away
    expect(await reasonOf(process([good, good]))).toBe(away)
    delete faults.afterStoring
    await process([good, good])
    await process([good, good])
    const ids = processed.map(({ event }) => event.eventId)
    expect(ids.slice(2, 4)).toEqual(ids.slice(0, 2))
    expect(new Set(ids).size).toBe(4)
  })

  it('does so also when the request succeeds after its client was told to repeat it', async () => {
    const { process, processed, faults } = setUp()
    faults.givenUp = true
    await process([good])
    faults.givenUp = false
    await process([good])
    const [first, second] = processed.map(({ event }) => event.eventId)
    expect(second).toBe(first)
  })

  it('says so when a store is away', async () => {
    const fault = new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter: 30 })
    expect(await reasonOf(setUp({ fault }).process([good]))).toBe(fault)
  })
})

describe.each(['enqueue', 'process'] as const)('%s', (path) => {
  it('refuses a request without a single valid event, with the list', async () => {
    const { [path]: track, published, processed } = setUp()
    expect(await reasonOf(track([nameless, null]))).toMatchObject({
      code: 'bad_request',
      details: {
        accepted: 0,
        failed: 2,
        invalid: [
          { index: 0, reason: 'eventName is required' },
          { index: 1, reason: 'the event must be object' },
        ],
      },
    })
    expect([...published, ...processed]).toEqual([])
  })

  const device = { ip: '198.51.100.1', userAgent: 'Device/2' }
  it.each([
    ['the connection of a browser, whatever the event says', browser, device, browser],
    ['the event that a server sends', server, device, device],
    ['nowhere when a server does not say', server, {}, { ip: null, userAgent: null }],
    [
      'nowhere when a server says nonsense',
      server,
      { ip: 7, userAgent: null },
      { ip: null, userAgent: null },
    ],
  ])('takes the device from %s', async (_, sender, properties, { ip, userAgent }) => {
    const { [path]: track, published, processed } = setUp()
    await track([{ ...good, properties }], sender)
    const [record] = [...published.map(({ value }) => value), ...processed]
    expect(record).toMatchObject({ client: { ip, userAgent }, event: { properties } })
  })
})
