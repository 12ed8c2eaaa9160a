import { createMemoryCache } from '@waymark/cache'
import { AppError } from '@waymark/contracts/app-error'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { ingestRecords, type Topic } from '@waymark/contracts/topics'
import { compileSelector } from '@waymark/domain/conversion'
import { compileDecision, createDecisionSet } from '@waymark/domain/decision'
import { BusUnavailableError, type OutgoingRecord } from '@waymark/event-bus'
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

type SetUp = Partial<ProjectConfig> & { fault?: Error; duplicates?: readonly number[] }

/** A gateway on fakes that record their calls; `fault` is the error to throw. */
const setUp = ({ fault, duplicates = [], ...change }: SetUp = {}) => {
  const faults: { afterStoring?: Error; clientTimedOut?: boolean } = {}
  const published: OutgoingRecord<unknown>[] = []
  const processed: IngestRecord[] = []
  const publish = async <T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]) => {
    if (records.length === 0) return
    expect(topic.name).toBe(ingestRecords.name)
    if (fault) throw fault
    published.push(...records)
  }
  const queue: IngestQueue = {
    enqueue: publish,
    enqueueSerialized: async () => {},
    enqueueOnBus: publish,
    watchSpool: async () => {},
  }
  const config: ProjectConfig = {
    projectId: PROJECT_ID,
    tenantId: 'tenant',
    settings: {},
    hasDefinitions: true,
    checkFor: () => () => [],
    selectorsFor: () => [],
    triggersFor: () => [],
    loyaltyProgrammes: [],
    prepare: async () => {},
    decisions: createDecisionSet([], compileDecision),
    ...change,
  }
  const intake = createIntake({
    projectConfigs: { get: async () => config },
    cache: createMemoryCache(),
    clock: () => NOW_MS,
  })
  const processSync = async (records: readonly IngestRecord[]) => {
    if (fault) throw fault
    processed.push(...records)
    if (faults.afterStoring) throw faults.afterStoring
    return duplicates
  }
  const trackEvents = createTrackEvents({ intake, queue, processSync })
  const using =
    (path: 'enqueue' | 'process') =>
    (
      rawEvents: readonly unknown[],
      sender = browser,
      bodyBytes = 1_000,
      sentAt: string | null = null,
      backfill = false,
      sentAtProblem?: ValidationItem,
    ) =>
      trackEvents[path]({ rawEvents, sentAt, ...(sentAtProblem && { sentAtProblem }) }, sender, {
        bodyBytes,
        bodyDigest: () => 'digest',
        backfill,
        whileQueueing: (work) => work,
        onClientTimeout: (then) => {
          if (faults.clientTimedOut) then()
        },
      })
  const process = using('process')
  const backfill = (rawEvents: readonly unknown[], sentAt: string | null = null) =>
    process(rawEvents, server, 1_000, sentAt, true)
  return { published, processed, faults, enqueue: using('enqueue'), process, backfill }
}

const metering = compileSelector({
  id: '01900000-0000-7000-8000-00000000000a',
  eventName: 'order',
  filter: null,
  amountProperty: 'total',
  currencyProperty: 'currency',
  quantityProperty: null,
})

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
    expect(published.map(({ key }) => key)).toEqual([
      `${PROJECT_ID}:v`,
      `${PROJECT_ID}:u`,
      `${PROJECT_ID}:order-1`,
    ])
    expect(published.map(({ value }) => (value as IngestRecord).event.eventName)).toEqual(['a', 'b', 'c'])
  })

  it('publishes valid records, with the times of receipt and of sending', async () => {
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

  it('generates a UUIDv7 for an event without an id', async () => {
    const { enqueue, published } = setUp()
    await enqueue([good, good, { ...good, eventId: 'mine' }])
    const [first, second, third] = published.map(({ value }) => (value as IngestRecord).event.eventId)
    expect(first).toMatch(UUID_V7)
    expect(second).toMatch(UUID_V7)
    expect(first).not.toBe(second)
    expect(third).toBe('mine')
  })

  it('accepts the other events when one is invalid', async () => {
    const { enqueue, published } = setUp()
    const result = await enqueue([nameless, good, 'text'])
    expect(result).toEqual({
      accepted: 1,
      failed: 2,
      queued: 1,
      processed: false,
      invalid: [
        { index: 0, rawSample: JSON.stringify(nameless), reason: 'eventName is required' },
        { index: 2, rawSample: '"text"', reason: 'the event must be an object; got "text"' },
      ],
    })
    expect(published).toHaveLength(1)
  })

  it('counts an event with warnings as accepted', async () => {
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

  it('does not report an internal error as QUEUE_UNAVAILABLE', async () => {
    const fault = new TypeError('a bug')
    expect(await reasonOf(setUp({ fault }).enqueue([good]))).toBe(fault)
  })
})

describe('process', () => {
  it('stores every event without the queue', async () => {
    const { process, processed, published } = setUp()
    const result = await process([good, { ...good, eventName: 'b' }])
    expect(result).toEqual({ accepted: 2, failed: 0, queued: 0, processed: true })
    expect(processed.map(({ event }) => event.eventName)).toEqual(['page_view', 'b'])
    expect(published).toEqual([])
  })

  it('returns errors and warnings by event', async () => {
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

  it('reports events whose ids belong to other events, and counts them as failed', async () => {
    const events = [nameless, { ...good, eventId: 'a' }, { ...visitorless, eventId: 'b' }]
    const result = await setUp({ duplicates: [0, 1] }).process(events)
    const duplicate = (eventId: string) => ({ field: 'eventId', rule: 'duplicate_event_id', actual: eventId })
    expect(result).toMatchObject({
      accepted: 0,
      failed: 3,
      processed: true,
      errors: [
        { index: 0, errors: [{ rule: 'structure' }] },
        { index: 1, eventName: 'page_view', errors: [duplicate('a')] },
        { index: 2, eventName: 'page_view', errors: [{ rule: 'missing_visitor_id' }, duplicate('b')] },
      ],
    })
  })

  it('does not queue a conversion whose id belongs to another event', async () => {
    const { process } = setUp({ selectorsFor: () => [metering], duplicates: [1] })
    const events = ['a', 'b', 'c'].map((eventId) => ({ ...good, eventId }))
    expect(await process(events)).toMatchObject({ accepted: 2, failed: 1, queued: 2, processed: true })
    const refused = setUp({ selectorsFor: () => [metering], duplicates: [0] })
    expect(await refused.process([{ ...good, eventId: 'a' }])).toMatchObject({
      accepted: 0,
      failed: 1,
      queued: 0,
    })
  })

  it('warns of invalid amounts and currencies, and counts the conversion without them', async () => {
    const { process, published } = setUp({ selectorsFor: () => [metering] })
    const order = { ...good, eventId: 'o', properties: { total: 12.5, currency: 'ABC' } }
    expect(await process([order])).toMatchObject({
      accepted: 1,
      failed: 0,
      queued: 1,
      errors: [
        {
          index: 0,
          errors: [
            { field: 'properties.total', rule: 'invalid_amount', actual: 12.5 },
            { field: 'properties.currency', rule: 'invalid_currency', actual: 'ABC' },
          ],
        },
      ],
    })
    expect(published[0]?.value).toMatchObject({
      conversions: [{ amount: null, currency: null }],
      warnings: [{ rule: 'invalid_amount' }, { rule: 'invalid_currency' }],
    })
    const silent = setUp({ selectorsFor: () => [metering] })
    expect(await silent.process([order], { ...browser, validationMode: 'off' })).not.toHaveProperty('errors')
  })

  it.each([
    ['none', undefined],
    ['a value that is a bug', 'undefined'],
  ])(
    'gives events with the id %s the same generated ids when the request is repeated',
    async (_what, eventId) => {
      const { process, processed, faults } = setUp()
      const good = { eventName: 'page_view', visitorId: 'visitor-1', eventId }
      const away = new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter: 30 })
      // It was stored, but the response was lost.
      faults.afterStoring = away
      expect(await reasonOf(process([good, good]))).toBe(away)
      delete faults.afterStoring
      await process([good, good])
      await process([good, good])
      const ids = processed.map(({ event }) => event.eventId)
      expect(ids.slice(2, 4)).toEqual(ids.slice(0, 2))
      expect(new Set(ids).size).toBe(4)
    },
  )

  it('also does so when the request succeeds after its client got a timeout', async () => {
    const { process, processed, faults } = setUp()
    faults.clientTimedOut = true
    await process([good])
    faults.clientTimedOut = false
    await process([good])
    const [first, second] = processed.map(({ event }) => event.eventId)
    expect(second).toBe(first)
  })

  it('answers 503 when a store is unavailable', async () => {
    const fault = new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter: 30 })
    expect(await reasonOf(setUp({ fault }).process([good]))).toBe(fault)
  })
})

describe('a backfill', () => {
  const conversion = { ...good, eventName: 'order' }
  const metered = () => setUp({ selectorsFor: (name) => (name === 'order' ? [metering] : []) })

  it.each([
    ['no id', {}],
    ['null', { eventId: null }],
    ['an empty id', { eventId: '' }],
    ['white space', { eventId: ' ' }],
    ['a number', { eventId: 7 }],
    ['an object', { eventId: {} }],
    ['undefined', { eventId: 'undefined' }],
    ['null as a text', { eventId: 'null' }],
    ['NaN', { eventId: 'NaN' }],
    ['an object as a text', { eventId: '[object Object]' }],
  ])('is refused when a conversion has %s for an id', async (_what, id) => {
    const { backfill, processed, published } = metered()
    const events = [
      good,
      { ...conversion, ...id },
      { ...conversion, eventId: 'mine' },
      { ...conversion, ...id },
    ]
    expect(await reasonOf(backfill(events))).toMatchObject({
      code: 'bad_request',
      message: 'MISSING_EVENT_ID',
      details: { affectedIndices: [1, 3] },
    })
    expect([...processed, ...published]).toEqual([])
  })

  it('accepts structural errors and warnings if no conversion lacks its id', async () => {
    const { backfill } = metered()
    const events = [' ', 7, '', 'undefined'].map((eventId) => ({ ...good, eventId }))
    expect(await backfill([good, ...events])).toMatchObject({
      accepted: 3,
      failed: 2,
      errors: [
        { index: 1, errors: [{ field: 'eventId', rule: 'structure' }] },
        { index: 2, errors: [{ field: 'eventId', rule: 'structure' }] },
        { index: 3, errors: [{ field: 'eventId', rule: 'invalid_event_id' }] },
        { index: 4, errors: [{ field: 'eventId', rule: 'invalid_event_id' }] },
      ],
    })
  })

  it('does not correct the times of events by the time of sending', async () => {
    const { backfill, processed } = metered()
    const event = { ...good, clientTimestamp: '2026-11-01T00:00:00Z' }
    expect(await backfill([event], '2020-01-01T00:00:00Z')).not.toHaveProperty('errors')
    expect(processed[0]).toMatchObject({ event: { clientTimestamp: event.clientTimestamp } })
    expect(processed[0]).not.toHaveProperty('sentAt')
  })

  it('warns of an unusable send time', async () => {
    const { process, processed } = setUp()
    const warning = { field: 'sentAt', rule: 'invalid_sent_at', message: 'is no time' }
    for (const backfill of [false, true]) {
      const options = [server, 1_000, null, backfill, warning] as const
      expect(await process([good, good], ...options)).toMatchObject({
        accepted: 2,
        errors: [{ errors: [warning] }, { errors: [warning] }],
      })
    }
    expect(processed).toHaveLength(4)
    for (const record of processed) expect(record.warnings).toEqual([warning])
  })

  it('warns of a time over 24 hours ahead even with a time of sending', async () => {
    const ahead = '2026-11-23T04:00:00Z'
    const result = await metered().backfill([{ ...good, clientTimestamp: ahead }], ahead)
    expect(result).toMatchObject({ errors: [{ errors: [{ rule: 'future_timestamp' }] }] })
  })
})

describe.each(['enqueue', 'process'] as const)('%s', (path) => {
  it('refuses a request without a valid event, with the list of errors', async () => {
    const { [path]: track, published, processed } = setUp()
    const refused = await reasonOf(track([nameless, null]))
    const errors = [
      {
        index: 0,
        eventName: '',
        errors: [expect.objectContaining({ field: 'eventName', rule: 'structure' })],
      },
      { index: 1, eventName: '', errors: [expect.objectContaining({ field: '', rule: 'structure' })] },
    ]
    expect(refused?.details.errors).toEqual(path === 'process' ? errors : undefined)
    expect(refused).toMatchObject({
      code: 'bad_request',
      details: {
        accepted: 0,
        failed: 2,
        invalid: [
          { index: 0, reason: 'eventName is required' },
          { index: 1, reason: 'the event must be an object; got null' },
        ],
      },
    })
    expect([...published, ...processed]).toEqual([])
  })

  it.each([
    ['an app by its key', { ...browser, isApp: true }, {}, true],
    ['an app that a server names', server, { userAgent: 'okhttp/4.12.0' }, true],
    ['a page', browser, { userAgent: 'okhttp/4.12.0' }, undefined],
    ['a program that a server names', server, { userAgent: 'curl/8.9.1' }, undefined],
  ])('knows %s', async (_, sender, properties, isApp) => {
    const { [path]: track, published, processed } = setUp()
    await track([{ ...good, properties }], sender)
    const [record] = [...published.map(({ value }) => value as IngestRecord), ...processed]
    expect(record?.client?.isApp).toBe(isApp)
  })

  const device = { ip: '198.51.100.1', userAgent: 'Device/2' }
  it.each([
    ['the connection of a browser, whatever the event says', browser, device, browser],
    ['the event that a server sends', server, device, device],
    ['nowhere when a server does not say', server, {}, undefined],
    ['nowhere when a server says nonsense', server, { ip: 7, userAgent: null }, undefined],
  ])('uses the device of %s', async (_, sender, properties, client) => {
    const { [path]: track, published, processed } = setUp()
    await track([{ ...good, properties }], sender)
    const [record] = [...published.map(({ value }) => value as IngestRecord), ...processed]
    expect(record?.event.properties).toEqual(properties)
    expect(record?.client).toEqual(client && { ip: client.ip, userAgent: client.userAgent })
  })
})
