import { setTimeout as sleep } from 'node:timers/promises'
import { apiKeyScopes } from '@waymark/contracts/api-key'
import { createApiKey } from '@waymark/contracts/http/api-keys'
import { createCouponPool, importCoupons } from '@waymark/contracts/http/coupon-pools'
import { decide, evaluateFlags } from '@waymark/contracts/http/decide'
import { createDecision, listDecisions, previewDecision } from '@waymark/contracts/http/decisions'
import { previewEmail } from '@waymark/contracts/http/email-triggers'
import {
  createEventDefinition,
  inferEventSchema,
  listEventDefinitions,
  updateEventDefinition,
} from '@waymark/contracts/http/event-definitions'
import { exportEvents, listEvents, streamEvents } from '@waymark/contracts/http/events'
import { backfillEvents, trackEvents } from '@waymark/contracts/http/ingestion-operations'
import { createLink, createLinks, getLinkQrCode, resolveLink } from '@waymark/contracts/http/links'
import { createMeteringSelector, MAX_SELECTORS_PER_EVENT } from '@waymark/contracts/http/metering-selectors'
import { MAX_BODY_PART_VALUES, MAX_BODY_VALUES, type Operation } from '@waymark/contracts/http/operation'
import { getProfileTimeline, listProfiles } from '@waymark/contracts/http/profile-view'
import { segmentBatch } from '@waymark/contracts/http/segment-protocol'
import { eventually, services } from '@waymark/testing'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { asOwner, stringIn } from './openapi/example.ts'
import { type Call, startWorld, type World } from './openapi/world.ts'
import { startRequestThread, type ThreadAnswer } from './request-thread.ts'

/** Maximum delay of a health probe by a request of a project, in ms on an idle core. */
const MAX_DELAY_MS = 250
const SEED = Number(process.env.BLOCKING_SEED ?? 20_261_124)

const repeated = <T>(part: T, times: number): T[] => Array.from({ length: times }, () => part)
const items = repeated(1, 2_500)
const text = 'x'.repeat(22_000)
const above = { var: '../../properties.text' }

/** Different kinds of logic that multiply their work. */
const hostileLogic = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((times) => ({
    some: [{ var: 'properties.items' }, { in: ['q', { cat: repeated(above, times) }] }],
  })),
  fc.integer({ min: 1, max: 40 }).map((times) => ({
    some: [
      { var: 'properties.items' },
      { '!': { merge: repeated({ var: '../../properties.items' }, times) } },
    ],
  })),
  fc.constantFrom('==', '<', '>=', '!==').map((compare) => ({
    some: [{ var: 'properties.items' }, { and: repeated({ [compare]: [above, above] }, 50) }],
  })),
  fc.constantFrom('cat', 'merge').map((join) => ({
    '!': { [join]: [{ map: [{ var: 'properties.items' }, { var: '../../properties.items' }] }] },
  })),
)

/** Schemas that are expensive for each value. Some may be refused. */
const hostileSchema = fc
  .integer({ min: 20, max: 400 })
  .chain((count) =>
    fc.constantFrom<object>(
      { additionalProperties: { allOf: repeated({ type: 'string' }, count) } },
      { propertyNames: { allOf: repeated({ format: 'email' }, count) } },
      { additionalProperties: { anyOf: repeated({ maxLength: 1, pattern: '^a' }, count) } },
      { additionalProperties: { oneOf: repeated({ minimum: 2 }, count) } },
      { allOf: repeated({ required: Array.from({ length: count }, (_, n) => `r${n}`) }, count) },
      { unevaluatedProperties: false, anyOf: repeated({ patternProperties: { '^p': {} } }, count) },
    ),
  )
/** Patterns that are slow to analyse or to match. Some may be refused. */
const hostilePattern = fc.oneof(
  fc.integer({ min: 500, max: 1_100 }).map((length) => `^${'a'.repeat(length)}$`),
  fc.integer({ min: 1, max: 60 }).map((count) => `^(?:a{0,${count}}){0,${count}}b`),
  fc.integer({ min: 1, max: 30 }).map((count) => `^${'[a-z]+[0-9]+'.repeat(count)}$`),
  fc.constantFrom('(a+)+$', '.*x.*y.*z', '^(?:\\w+\\s?)+$', '(a|aa)+$', '^(.*a){12}$', '\\S+@\\S+'),
)

const numbered = (count: number, nameOf: (n: number) => string, value: (n: number) => unknown = () => 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [nameOf(n), value(n)]))
/** This many members with unique names. */
const distinct = (count: number, start = 0) => numbered(count, (n) => `k${start + n}`)

const wide = Object.fromEntries(Array.from({ length: 2_400 }, (_, n) => [`p${n}`, 1]))

describe.skipIf(!services)('requests of a project do not block others', () => {
  let world: World
  let owner: Call
  let key: string
  const thread = startRequestThread()
  beforeAll(async () => {
    world = await startWorld(1_000_000)
    owner = await asOwner(world)
    const body = { name: 'All', kind: 'sec', scopes: apiKeyScopes }
    key = stringIn((await world.call(createApiKey, { ...owner, body })).body, 'key')
  })
  afterAll(async () => {
    await thread.stop()
    await world?.stop()
  })

  /** A request that is created now and sent later by another thread. */
  const prepare = (operation: Operation, { params = {}, query = {}, body }: Call = {}) => {
    const path = operation.path.replace(
      /\{(\w+)\}/g,
      (_, name: string) => ({ ...owner.params, ...params })[name] ?? '',
    )
    const [type = 'application/json'] = operation.consumes ?? []
    return thread.prepare({
      url: `${world.baseUrl}${path}?${new URLSearchParams(query)}`,
      method: operation.method.toUpperCase(),
      headers: { 'X-API-Key': key, ...(body !== undefined && { 'Content-Type': type }) },
      body,
    })
  }
  const send = (operation: Operation, call?: Call): Promise<ThreadAnswer> => prepare(operation, call)()
  const expectStatus = async (status: number, answer: Promise<ThreadAnswer>): Promise<ThreadAnswer> => {
    const answered = await answer
    expect(answered, answered.text).toMatchObject({ status })
    return answered
  }

  /** CPU time of this thread, in ms. On an idle core it equals the delay, and other processes do not affect it. */
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  /** The longest delay of a response: a turn of the event loop or the wait of a probe. */
  const longestDelayDuring = async (work: () => Promise<unknown>): Promise<number> => {
    let longest = 0
    let isDone = false
    const noteSince = (start: number) => {
      longest = Math.max(longest, cpuMs() - start)
    }
    let turn = cpuMs()
    const turns = setInterval(() => {
      noteSince(turn)
      turn = cpuMs()
    }, 1)
    const probe = async () => {
      while (!isDone) {
        const start = cpuMs()
        expect((await fetch(`${world.baseUrl}/healthz`)).status).toBe(200)
        noteSince(start)
        await sleep(5)
      }
    }
    const probing = probe()
    try {
      await work()
    } finally {
      isDone = true
      await probing
      clearInterval(turns)
    }
    return longest
  }
  const expectNoDelay = async (work: () => Promise<unknown>) =>
    expect(await longestDelayDuring(work)).toBeLessThan(MAX_DELAY_MS)

  const track = async (eventName: string, properties: object, count: number) => {
    const events = repeated({ eventName, visitorId: 'v', properties }, count)
    return send(trackEvents, { query: { sync: '1' }, body: { events } })
  }

  it('by the filters of its metering selectors', async () => {
    const filters = fc.sample(hostileLogic, { seed: SEED, numRuns: MAX_SELECTORS_PER_EVENT })
    const create = (filter: unknown) =>
      world.call(createMeteringSelector, { ...owner, body: { eventName: 'logic', filter } })
    for (const filter of filters) expect((await create(filter)).status).toBe(201)
    expect(await create(null)).toMatchObject({ status: 422, text: expect.stringContaining('max_selectors') })
    await expectNoDelay(async () => {
      await eventually('the selectors are known', async () =>
        (await track('logic', { items, text }, 10)).text.includes('filter_budget_exceeded'),
      )
      await Promise.all(repeated(0, 4).map(() => track('logic', { items, text }, 20)))
    })
  })

  it('by the schemas of its events', async () => {
    const schemas = fc.sample(hostileSchema, { seed: SEED, numRuns: 20 })
    await expectNoDelay(async () => {
      for (const [n, schema] of schemas.entries()) {
        const body = { name: `schema-${n}`, schema }
        expect([201, 413, 422]).toContain(
          (await world.call(createEventDefinition, { ...owner, body })).status,
        )
      }
      for (const n of schemas.keys()) await track(`schema-${n}`, wide, 10)
    })
  })

  it('by the patterns of its schemas', async () => {
    const patterns = fc.sample(hostilePattern, { seed: SEED, numRuns: 60 })
    const schemaOf = (count: number) => ({
      properties: numbered(
        count,
        (n) => `p${n}`,
        (n) => ({ pattern: patterns[n] }),
      ),
    })
    const alone = patterns.map((pattern) => ({ additionalProperties: { pattern } }))
    const texts = ['a'.repeat(30_000), 'a1'.repeat(15_000), `${'a@'.repeat(15_000)}!`]
    await expectNoDelay(async () => {
      for (const [n, schema] of [schemaOf(50), ...alone].entries()) {
        const { status } = await send(createEventDefinition, { body: { name: `pattern-${n}`, schema } })
        expect([201, 422]).toContain(status)
        if (status === 201) for (const one of texts) await track(`pattern-${n}`, { one }, 10)
      }
    })
  })

  it('by changing one of many large schemas', async () => {
    const schemaOf = (n: number) => ({
      title: `${n}`,
      properties: numbered(
        166,
        (index) => `p${index}`,
        () => ({ type: 'string', maxLength: 9 }),
      ),
    })
    const ids: string[] = []
    for (let n = 0; n < 60; n++) {
      const body = { name: `many-${n}`, schema: schemaOf(n) }
      ids.push(
        stringIn(JSON.parse((await expectStatus(201, send(createEventDefinition, { body }))).text), 'id'),
      )
    }
    const events = Array.from({ length: 60 }, (_, n) => ({
      eventName: `many-${n}`,
      visitorId: 'v',
      properties: {},
    }))
    const sync = prepare(trackEvents, { query: { sync: '1' }, body: { events } })
    await expectNoDelay(async () => {
      // The first request compiles all of them, which may exceed its deadline. Compiled ones are cached.
      await eventually('all are compiled', async () => (await sync()).status === 200)
      for (const [n, id] of ids.slice(0, 5).entries()) {
        const body = { schema: schemaOf(1_000 + n) }
        await expectStatus(200, send(updateEventDefinition, { params: { id }, body }))
        await expectStatus(200, sync())
      }
    })
  })

  it('by events of very many members', async () => {
    const bodies = [
      { eventName: 'huge', ...distinct(80_000) },
      { eventName: 'huge', visitorId: 'v', properties: distinct(80_000) },
      { eventName: 'huge', visitorId: 'v', properties: { list: repeated(1, 500_000) } },
      { eventName: 'huge', visitorId: 'v', properties: { list: repeated({}, 300_000) } },
    ].map((body) => prepare(trackEvents, { body }))
    await expectNoDelay(async () => {
      for (const body of bodies) await expectStatus(413, body())
    })
  })

  it('by JSON that is slow to parse', async () => {
    const mib = 1024 * 1024
    const filled = (item: string, bytes: number, most = MAX_BODY_VALUES) =>
      `[${Array(Math.min(most, Math.floor(bytes / (item.length + 1))))
        .fill(item)
        .join(',')}]`
    const event = (properties: string) => `{"eventName":"slow","visitorId":"v","properties":${properties}}`
    const events = (bytes: number) => [
      // An id of 64 bits has the others parsed one by one, and U+0000 has them searched.
      `{"events":${filled(event('{"a":12345678901234567891}'), bytes)}}`,
      `{"events":${filled(event('{"a":"\\u0000"}'), bytes)}}`,
      `{"events":${filled('12345678901234567', bytes)}}`,
      `{"events":[1e400,${filled('1'.repeat(199), bytes).slice(1)}}`,
      `{"events":["${`${'1'.repeat(199)}x`.repeat(bytes / 200)}"]}`,
      `{"events":${'['.repeat(15_000)}${']'.repeat(15_000)}}`,
      `{"events":["${',1.'.repeat(bytes / 3 - 100)}"]}`,
    ]
    const requests = [
      ...events(mib - 100).map((body) => prepare(trackEvents, { body })),
      ...events(10 * mib - 100).map((body) => prepare(backfillEvents, { body })),
    ]
    for (const request of requests)
      await expectNoDelay(async () => {
        expect([200, 202, 400, 413]).toContain((await request()).status)
      })
  })

  it('by many groups of one person', async () => {
    const batch = Array.from({ length: 4_000 }, (_, n) => ({
      type: 'group',
      userId: 'in-many-groups',
      groupId: `g${n}`,
      traits: { a: 1 },
    }))
    const join = prepare(segmentBatch, { body: { batch } })
    // 503: it takes over 9 s. Then the sender repeats it.
    await expectNoDelay(async () => expect([200, 503]).toContain((await join()).status))
  })

  it('by its backfills', async () => {
    const backfill = (events: object[]) => prepare(backfillEvents, { body: { events } })
    const event = (n: number, properties: object) => ({
      eventName: 'past',
      eventId: `past-${n}`,
      visitorId: 'v',
      properties,
    })
    const many = (propertiesOf: (n: number) => object) =>
      Array.from({ length: 1_000 }, (_, n) => event(n, propertiesOf(n)))
    const perEvent = Math.floor(MAX_BODY_VALUES / 1_000) - 6
    const accepted = [
      many((n) => distinct(perEvent, n * perEvent)),
      many(() => ({ text: 'x'.repeat(10_000) })),
      many(() => ({ list: repeated({}, perEvent - 1) })),
      many(() =>
        numbered(
          perEvent,
          (n) => `p${n}`,
          () => 'x'.repeat(50),
        ),
      ),
    ].map(backfill)
    const text = 'x'.repeat(1024 * 1024)
    const refused = [
      { status: 413, request: backfill([event(0, { ...distinct(MAX_BODY_PART_VALUES), text })]) },
      { status: 413, request: backfill([event(0, distinct(800_000))]) },
      { status: 413, request: backfill([event(0, { list: repeated(1, 5_000_000) })]) },
    ]
    for (const request of accepted) await expectNoDelay(() => expectStatus(200, request()))
    for (const { status, request } of refused) await expectNoDelay(() => expectStatus(status, request()))
  })

  it('by reading large events, and schemas inferred from them', async () => {
    const large = (n: number) => ({
      ...numbered(
        190,
        (index) => `p${index}`,
        (index) => numbered(12, (inner) => `q${(n + inner) % 190}-${index}`),
      ),
      n,
    })
    for (let batch = 0; batch < 20; batch++) {
      const events = Array.from({ length: 25 }, (_, n) => ({
        eventName: 'large',
        visitorId: 'reader',
        properties: large(batch * 25 + n),
      }))
      await expectStatus(200, send(trackEvents, { query: { sync: '1' }, body: { events } }))
    }
    const { text } = await expectStatus(200, send(listProfiles, { query: { visitorId: 'reader' } }))
    const [profile] = (JSON.parse(text) as { data: unknown[] }).data
    const id = stringIn(profile, 'id')
    const pages = [
      prepare(listEvents, { query: { eventName: 'large', limit: '500' } }),
      prepare(getProfileTimeline, { params: { id }, query: { limit: '500' } }),
    ]
    const infer = prepare(inferEventSchema, { body: { eventName: 'large', sampleSize: 500 } })
    for (const request of [...pages, infer]) await expectNoDelay(() => expectStatus(200, request()))
    for (const request of pages)
      await expectNoDelay(() => Promise.all(repeated(0, 8).map(() => expectStatus(200, request()))))
    const exported = prepare(exportEvents, { query: { eventName: 'large' } })
    await expectNoDelay(() => Promise.all(repeated(0, 2).map(() => expectStatus(200, exported()))))
  })

  it('by following events', async () => {
    const stream = (query: Record<string, string>) => void send(streamEvents, { query })
    const large = () => ({ list: repeated({ a: 1 }, 2_000), text: 'x'.repeat(10_000) })
    const event = { eventName: 'followed', visitorId: 'followed', userId: 'followed', properties: large() }
    const batch = prepare(trackEvents, { query: { sync: '1' }, body: { events: repeated(event, 24) } })
    for (let n = 0; n < 8; n++) await expectStatus(200, batch())
    const names = ['eventName', 'visitorId', 'userId']
    for (let n = 0; n < 30; n++)
      stream(Object.fromEntries(names.flatMap((name, bit) => (n & (1 << bit) ? [[name, 'followed']] : []))))
    // The streams never answer, so wait until another one is refused.
    await eventually('all streams are open', async () => {
      const another = await fetch(`${world.baseUrl}/api/projects/${owner.params?.projectId}/events/stream`, {
        headers: { 'X-API-Key': key },
      })
      await another.body?.cancel()
      return another.status === 429
    })
    await expectNoDelay(() => sleep(3_000))
    await expectNoDelay(async () => {
      for (let n = 0; n < 8; n++) await expectStatus(200, batch())
      await sleep(2_000)
    })
  })

  it('by its decisions', async () => {
    const conditions = fc.sample(hostileLogic, { seed: SEED, numRuns: 30 })
    const inContext = (logic: unknown): unknown =>
      JSON.parse(JSON.stringify(logic).replaceAll('properties.', 'context.'))
    const keys = conditions.map((_, n) => `hostile-${n}`)
    // In reverse order, because each depends on the next; its rules take long to compile.
    for (const [n, condition] of [...conditions.entries()].reverse()) {
      const rules = Array.from({ length: 10 }, (_, index) => ({
        condition: { or: [{ '==': [{ var: 'context.no' }, `${n}-${index}`] }, inContext(condition)] },
        variant: 'a',
        ...(n + 1 < keys.length && { prerequisites: [{ decision: keys[n + 1], variants: ['a'] }] }),
      }))
      const variants = [{ key: 'a', value: 'x'.repeat(5_000) }]
      const body = { key: keys[n], status: 'active', variants, fallbackVariant: 'a', rules }
      await expectStatus(201, send(createDecision, { body }))
    }
    const context = { items, text }
    await expectNoDelay(async () => {
      const ask = prepare(decide, { body: { visitorId: 'v', keys, context } })
      await Promise.all(repeated(0, 4).map(() => expectStatus(200, ask())))
      const preview = { params: { key: keys[0] ?? '' }, body: { visitorId: 'v', context } }
      await Promise.all(repeated(0, 4).map(() => expectStatus(200, send(previewDecision, preview))))
    })
  })

  it('by evaluating many flags with long conditions', async () => {
    const condition = (n: number) => ({
      some: [
        { var: 'context.items' },
        { in: [`q${n}`, { cat: repeated({ var: '../../context.text' }, 20) }] },
      ],
    })
    for (let n = 0; n < 80; n++) {
      const variants = [
        { key: 'on', value: true },
        { key: 'off', value: false },
      ]
      const rules = [{ condition: condition(n), variant: 'on' }]
      const body = { key: `flag-${n}`, status: 'active', variants, fallbackVariant: 'off', rules }
      await expectStatus(201, send(createDecision, { body }))
    }
    const context = { targetingKey: 'v', items: repeated(1, 2_500), text: 'x'.repeat(22_000) }
    const evaluate = prepare(evaluateFlags, { body: { context } })
    await expectNoDelay(() => Promise.all(repeated(0, 30).map(() => expectStatus(200, evaluate()))))
  })

  it('by drawing QR codes', async () => {
    const { text } = await expectStatus(
      201,
      send(createLink, { body: { destination: 'https://shop.example/' } }),
    )
    const params = { id: stringIn(JSON.parse(text), 'id') }
    const draw = prepare(getLinkQrCode, { params, query: { format: 'png', size: '2048' } })
    await expectNoDelay(async () => {
      const answers = await Promise.all(repeated(0, 30).map(() => draw()))
      // Those that do not fit into the queue are refused.
      for (const { status } of answers) expect([200, 429]).toContain(status)
    })
  })

  it('by long paths of short links', async () => {
    const visit = prepare(resolveLink, { params: { code: `a${'.'.repeat(10_000)}b` } })
    await expectNoDelay(() => Promise.all(repeated(0, 30).map(() => expectStatus(404, visit()))))
  })

  it('by forms of hundreds of thousands of fields', async () => {
    const part = (n: number) => `--x\r\nContent-Disposition: form-data; name="a${n}"\r\n\r\n1\r\n`
    const forms = [
      ['application/x-www-form-urlencoded', `data=a${'&a'.repeat(400_000)}`],
      ['application/x-www-form-urlencoded', 'a=1&'.repeat(200_000)],
      [
        'multipart/form-data; boundary=x',
        `${repeated('', 15_000)
          .map((_, n) => part(n))
          .join('')}--x--\r\n`,
      ],
    ]
    const body = { name: 'Page', kind: 'pub', scopes: ['events:write'] }
    const page = stringIn(JSON.parse((await expectStatus(201, send(createApiKey, { body }))).text), 'key')
    for (const path of ['/api/v1/t', '/capture'])
      for (const [type = '', form] of forms) {
        const sendForm = thread.prepare({
          url: `${world.baseUrl}${path}`,
          method: 'POST',
          headers: { 'X-API-Key': page, 'Content-Type': type },
          body: form,
        })
        await expectNoDelay(async () => {
          const answers = await Promise.all(repeated(0, 10).map(() => sendForm()))
          for (const { status } of answers) expect([400, 401, 413]).toContain(status)
        })
      }
  })

  it('by links that forward thousands of parameters', async () => {
    const names = repeated(0, 600).map((_, n) => n.toString(36))
    const body = { destination: `https://shop.example/?${names.join('&')}`, forwardQuery: true }
    const code = stringIn(JSON.parse((await expectStatus(201, send(createLink, { body }))).text), 'code')
    const others = repeated('1', 1_500).map((value, n) => [`x${n.toString(36)}`, value])
    const query = Object.fromEntries([...names.map((name) => [name, '']), ...others])
    const visit = prepare(resolveLink, { params: { code }, query })
    await expectNoDelay(() => Promise.all(repeated(0, 30).map(() => visit())))
  })

  it('by imports of coupons and links', async () => {
    const discount = { type: 'percent', value: 10 }
    const body = { name: 'Imported', kind: 'unique', discount }
    const pool = await expectStatus(201, send(createCouponPool, { body }))
    const params = { id: stringIn(JSON.parse(pool.text), 'id') }
    const lines = (count: number, line: (n: number) => string) =>
      `code\n${Array.from({ length: count }, (_, n) => line(n)).join('\n')}\n`
    const files = [
      lines(50_000, (n) => `CODE-${n}`),
      lines(300_000, () => 'A'),
      lines(200_000, () => '"a"b'),
      lines(50, () => ','.repeat(60_000)),
      lines(50, () => '-'.repeat(60_000)),
      '\n'.repeat(2_000_000),
      '"'.repeat(2_000_000),
    ].map((file) => prepare(importCoupons, { params, body: file }))
    const long = `https://shop.example/?${'a=%20&'.repeat(330)}`
    const target = (n: number) => ({ country: 'DE', destination: `https://ä${n}.example/${'ü'.repeat(50)}` })
    const bulks = [
      repeated({ destination: long, targets: [{ device: 'mobile', destination: long }] }, 1_000),
      repeated({ destination: long, targets: Array.from({ length: 20 }, (_, n) => target(n)) }, 600),
      repeated({ destination: '-'.repeat(600), ...distinct(90) }, 1_000),
      [{ destination: 'x'.repeat(700_000), ...distinct(MAX_BODY_PART_VALUES - 10) }],
    ].map((links) => prepare(createLinks, { body: { links } }))
    for (const request of [...files, ...bulks]) await expectNoDelay(() => expectStatus(200, request()))
  })

  it('by as much configuration as it may have', async () => {
    const list = (count: number) => Array.from({ length: count }, (_, n) => ({ [`e${n % 50}`]: n }))
    let made = 0
    for (; made < 500; made++) {
      const isDecision = made % 4 > 0
      const { status, text } = await (isDecision
        ? send(createDecision, {
            body: {
              key: `filling-${made}`,
              status: 'active',
              variants: [{ key: 'a', value: list(4_000) }],
              fallbackVariant: 'a',
              rules: [],
            },
          })
        : send(createEventDefinition, {
            body: { name: `filling-${made}`, schema: { examples: list(4_000) } },
          }))
      if (status === 201) continue
      expect(text).toContain('QUOTA_CONFIGURATION_BYTES')
      break
    }
    expect(made).toBeLessThan(500)
    const body = { visitorId: 'v', keys: ['filling-1'] }
    await expectNoDelay(async () => {
      // Each of them is a change, after which the configuration is read again.
      for (let n = 0; n < 3; n++) {
        await send(createMeteringSelector, { body: { eventName: `changing-${n}` } })
        await expectStatus(200, send(decide, { body }))
        await track('changing', {}, 1)
      }
      await expectStatus(200, send(listEventDefinitions, { query: { limit: '500' } }))
      await expectStatus(200, send(listDecisions, { query: { limit: '500' } }))
      const preview = { params: { key: 'filling-1' }, body: { visitorId: 'v' } }
      await Promise.all(repeated(0, 16).map(() => expectStatus(200, send(previewDecision, preview))))
    })
  }, 400_000)

  it('by the templates of its emails', async () => {
    const html = '{{#each traits.a}}{{#each @root.traits.b}}{{this}}{{/each}}{{/each}}'
    const traits = { a: items.slice(0, 2_000), b: repeated('b', 25) }
    const preview = () =>
      world.call(previewEmail, { ...owner, body: { subject: 's', html, traits } }).catch(() => undefined)
    await expectNoDelay(() => Promise.all(repeated(0, 8).map(preview)))
  })
})
