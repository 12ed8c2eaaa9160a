import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ingestRecords } from '@waymark/contracts/topics'
import { createCouponService } from '@waymark/coupon-service'
import { openDatabase, type ServiceName } from '@waymark/database'
import { createDecisionService } from '@waymark/decision-service'
import { createDirectoryTransport, createEmailConsumer } from '@waymark/email-consumer'
import { createEnrichmentConsumer } from '@waymark/enrichment-consumer'
import type { TrendMetric } from '@waymark/event-store'
import { createIngestGateway } from '@waymark/ingest-gateway'
import { createLinkRedirector } from '@waymark/link-redirector'
import { createManagementApi, quotasConfig } from '@waymark/management-api'
import { createPersistenceConsumer } from '@waymark/persistence-consumer'
import { createPurger, eraseProfile } from '@waymark/pipeline'
import { ensureDemoProject } from '@waymark/project-config'
import {
  combineServices,
  createScope,
  embeddedPlatform,
  limitsConfig,
  type Platform,
  readConfig,
  type Scope,
  startService,
} from '@waymark/service-kit'
import {
  anIngestRecord,
  createMemoryLog,
  createTestDatabase,
  createTestRoles,
  eventually,
  PATIENCE_MS,
  requireServices,
  services,
  type TestDatabase,
  type TestRoles,
  untilAvailable,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'

type Json = { [field: string]: unknown }
type Profile = { id: string; userId: string | null }

const HTTP = { port: 0, metricsPort: 0, trustedProxies: 0, deadlineMs: PATIENCE_MS }

const LAG = `
  SELECT count(*)::int AS lagging FROM (SELECT DISTINCT consumer_group, topic FROM bus.log_offsets) read
  JOIN (SELECT topic, partition, max("offset") AS last FROM bus.log GROUP BY 1, 2) written USING (topic)
  LEFT JOIN bus.log_offsets USING (consumer_group, topic, partition) WHERE coalesce(next, 0) <= last`

describe.skipIf(!services)('erasing a person', () => {
  let database: TestDatabase
  let roles: TestRoles
  let platform: Platform
  let front: Scope
  let back: Scope
  let base: string
  let projectId: string
  let apiKey: string
  let mailDir: string
  const log = createMemoryLog()

  /** The platform of a service in a distributed deployment, with its own database role. */
  const under = (service: ServiceName, scope: Scope): Platform => {
    const url = roles.urlFor(service)
    const db = openDatabase({ url, poolSize: 6, applicationName: `waymark-${service}`, onError: () => {} })
    scope.onStop(service, () => db.close())
    return { ...platform, db }
  }

  const startConsumers = async () => {
    back = createScope(log)
    // Two services share the platform, and both register metrics.
    platform.metrics.clear()
    const email = createEmailConsumer(under('email-consumer', back), {
      transport: createDirectoryTransport(mailDir),
      from: 'Shop <hello@shop.example>',
      allowedSenders: [],
      perHour: 1_000_000,
      publicUrl: 'http://localhost',
      secrets: ['x'.repeat(32)],
      connections: 1,
      timeoutMs: 1_000,
      retryAfterMs: 1_000,
    })
    const consumers = [
      createEnrichmentConsumer(under('enrichment-consumer', back)),
      createPersistenceConsumer(under('persistence-consumer', back)),
      email,
    ]
    await startService(combineServices(consumers), HTTP, platform, back)
  }

  beforeAll(async () => {
    database = await createTestDatabase()
    roles = await createTestRoles(database.url, requireServices().postgresUrl)
    mailDir = await mkdtemp(path.join(tmpdir(), 'waymark-mail-'))
    front = createScope(log)
    const limits = {
      ...readConfig(limitsConfig, {}),
      ingestPerMinute: 1_000_000,
      profilePerMinute: 1_000_000,
      decidePerMinute: 1_000_000,
    }
    const embedded = await embeddedPlatform(
      { databaseUrl: database.url, limits },
      { name: 'erasure', log, scope: front },
    )
    platform = { ...embedded, deleteMailCopies: createDirectoryTransport(mailDir).deleteCopies }
    const answering = combineServices([
      createIngestGateway(under('ingest-gateway', front)),
      createManagementApi(under('management-api', front), {
        shortLinkBaseUrl: 'http://localhost',
        publicUrl: 'http://localhost',
        oidc: { allowPrivateAddresses: false },
        erasures: { secret: 's'.repeat(32), backupRetentionDays: 0 },
        quotas: readConfig(quotasConfig, {}),
        registrationMode: 'open',
        allowedSenders: [],
      }),
      createCouponService(under('coupon-service', front)),
      createDecisionService(under('decision-service', front)),
      createLinkRedirector(under('link-redirector', front)),
    ])
    const { port } = await startService(answering, HTTP, platform, front)
    base = `http://localhost:${port}`
    ;({ projectId, apiKey } = await ensureDemoProject(platform.db))
    await startConsumers()
  })
  afterAll(async () => {
    await back?.dispose()
    await front?.dispose()
    await database?.drop()
    await roles?.drop()
    const refused = log.lines.filter((line) => JSON.stringify(line).includes('"42501"'))
    expect(refused).toEqual([])
    if (mailDir) await rm(mailDir, { recursive: true })
  })

  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await untilAvailable(() =>
      fetch(`${base}${path}`, {
        method,
        headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    return {
      status: response.status,
      body: (text === '' ? {} : JSON.parse(text)) as Json,
      headers: response.headers,
    }
  }
  const manage = (method: string, resource: string, body?: unknown, headers?: Record<string, string>) =>
    call(method, `/api/projects/${projectId}/${resource}`, body, headers)
  const track = (events: Json[], path = '/api/v1/t?sync=1') => call('POST', path, { events })
  const profileOf = async (visitorId: string): Promise<Profile | undefined> => {
    const { body } = await manage('GET', `profiles?visitorId=${encodeURIComponent(visitorId)}`)
    return (body.data as Profile[])[0]
  }
  const knownProfile = async (visitorId: string): Promise<Profile> => {
    const profile = await profileOf(visitorId)
    if (!profile) throw new Error(`${visitorId} has no profile`)
    return profile
  }
  const allHandled = () =>
    eventually('the consumers have handled everything', async () => {
      const { rows } = await platform.db.pool.query<{ lagging: number }>(LAG)
      const { rows: waiting } = await platform.db.pool.query('SELECT FROM ingest.outbox')
      return rows[0]?.lagging === 0 && waiting.length === 0
    })

  /** The messages in the mail directory that contain the text. */
  const messagesWith = async (text: string): Promise<string[]> => {
    const names = await readdir(mailDir)
    const found = await Promise.all(
      names.map(async (name) => (await readFile(path.join(mailDir, name), 'utf8')).includes(text)),
    )
    return names.filter((_, index) => found[index])
  }

  /** Every table with a row that contains the text. Records of the queue expire by age. */
  const tablesWith = async (text: string): Promise<string[]> => {
    const { rows } = await platform.db.pool.query<{ name: string }>(`
      SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
      WHERE table_type = 'BASE TABLE' AND table_schema IN ('core', 'coupon', 'decision', 'email', 'ingest', 'link')`)
    const found: string[] = []
    for (const { name } of rows) {
      const column =
        name === 'ingest.dead_letters' ? `encode(value, 'escape') || coalesce(key, '')` : 'stored::text'
      const { rowCount } = await platform.db.pool.query(
        `SELECT FROM ${name} AS stored WHERE ${column} LIKE '%' || $1 || '%' LIMIT 1`,
        [text],
      )
      if (rowCount) found.push(name)
    }
    return found.sort()
  }

  /** A figure of the whole project in the event store. */
  const inAnalytics = async (metric: TrendMetric): Promise<number> => {
    const [from, to] = [Date.parse('2020-01-01T00:00:00Z'), Date.parse('2040-01-01T00:00:00Z')]
    const rows = await platform.eventStore.measureTrend({
      projectId,
      metric,
      from,
      to,
      buckets: [from],
      filters: [],
      maxGroups: 1,
      includeBots: true,
    })
    return rows.find(({ bucket }) => bucket === null)?.value ?? 0
  }

  const storedEvents = async () =>
    (await Array.fromAsync(platform.eventStore.readEvents({ projectId, portion: () => 1_000 }))).flatMap(
      ({ events }) => events,
    )

  const created = async (resource: string, body: Json): Promise<Json> => {
    const reply = await manage('POST', resource, body)
    expect(reply).toMatchObject({ status: 201 })
    return reply.body
  }
  const deliveries = async (triggerId: unknown) =>
    (await manage('GET', `email-deliveries?triggerId=${triggerId}`)).body.data as Json[]

  const importCodes = async (poolId: unknown, codes: string) => {
    const imported = await untilAvailable(() =>
      fetch(`${base}/api/projects/${projectId}/coupon-pools/${poolId}/import`, {
        method: 'POST',
        headers: { 'X-API-Key': apiKey, 'Content-Type': 'text/csv' },
        body: codes,
      }),
    )
    expect(imported.status).toBe(200)
  }

  /** Coupon pools, a decision, a trigger and a link that every process applies. */
  const prepare = async () => {
    const shared = { kind: 'shared', code: `c-${randomUUID()}`, perProfileLimit: 2 }
    const discount = { type: 'percent', value: 20 }
    const pool = await created('coupon-pools', { name: 'Shared', discount, ...shared })
    const unique = await created('coupon-pools', { name: 'Unique', discount, kind: 'unique' })
    await importCodes(unique.id, 'ALPHA-1\nBETA-1\nGAMMA-1\n')
    const gifts = await created('coupon-pools', {
      name: 'Gifts',
      kind: 'balance',
      amount: 5_000,
      currency: 'EUR',
    })
    await importCodes(gifts.id, 'GIFT-1\n')
    const decision = await created('decisions', {
      key: `d-${randomUUID()}`,
      status: 'active',
      variants: [{ key: 'on', value: true }],
      fallbackVariant: 'on',
      rules: [{ variant: 'on' }],
    })
    const trigger = await created('email-triggers', {
      name: 'Welcome',
      eventName: `welcomed-${randomUUID()}`,
      subject: 'Hello',
      html: '<p>Hello</p>',
      status: 'active',
      cooldownSeconds: 1,
    })
    const link = await created('links', { destination: 'https://shop.example/' })
    await eventually('the trigger is known', async () => {
      await track([{ eventName: `${trigger.eventName}`, visitorId: 'nobody' }], '/api/v1/t')
      return (await deliveries(trigger.id)).length > 0
    })
    await eventually('the decision is known', async () => {
      const { body } = await call('POST', '/api/v1/decide', { visitorId: 'nobody', keys: [decision.key] })
      return JSON.stringify(body).includes('TARGETING_MATCH')
    })
    return { pool, unique, gifts, decision, trigger, link }
  }

  it('covers every store, queued records and later replays; later data belongs to a new person', async () => {
    const mark = `mark-${randomUUID()}`
    const laptop = `${mark}-laptop`
    const phone = `${mark}-phone`
    const orders = `ordered-${randomUUID()}`
    const strict = `strict-${randomUUID()}`
    const selector = await manage('POST', 'metering-selectors', {
      eventName: orders,
      amountProperty: 'total',
      currencyProperty: 'currency',
    })
    await manage('POST', 'event-definitions', { name: strict, schema: { required: ['a'] } })
    const order = () => ({
      eventName: orders,
      visitorId: laptop,
      eventId: `${mark}-${randomUUID()}`,
      properties: { total: 500, currency: 'EUR' },
    })
    await eventually('the selector is known', async () => (await track([order()])).body.queued === 1)

    // More than a thousand events, two devices, traits, and conversions.
    const past = Array.from({ length: 1_000 }, (_, n) => ({
      eventName: 'seen',
      visitorId: n % 2 ? laptop : phone,
    }))
    expect((await track(past, '/internal/backfill/events')).status).toBe(200)
    for (const visitorId of [laptop, phone])
      await call('POST', '/api/v1/identify?sync=1', {
        visitorId,
        userId: `${mark}-user`,
        traits: { email: `${mark}@b.example` },
      })
    await track([
      { eventName: 'seen', userId: `${mark}-user`, properties: { referrer: `https://${mark}.example/` } },
    ])
    // A redeemed, a refused and an assigned coupon; an exposure; an email; a click.
    const { pool, unique, gifts, decision, trigger, link } = await prepare()
    const redemption = () => ({
      code: pool.code,
      visitorId: laptop,
      userId: `${mark}-user`,
      orderId: `${mark}-${randomUUID()}`,
      amount: 700,
      currency: 'EUR',
      items: [{ sku: `${mark}-sku`, quantity: 1, unitAmount: 700 }],
      eventId: `${mark}-${randomUUID()}`,
      metadata: { of: mark },
    })
    const redeem = (body: Json) => call('POST', '/api/v1/coupons/redeem', body)
    // By a browser, whose answer has no profile id.
    const browserKey = await manage('POST', 'api-keys', {
      name: 'Browser',
      kind: 'pub',
      scopes: ['coupons:redeem'],
    })
    const [redeemed, idempotencyKey] = [redemption(), `${mark} ${randomUUID()}`]
    const redeemOnce = () =>
      call('POST', '/api/v1/coupons/redeem', redeemed, {
        'X-API-Key': `${browserKey.body.key}`,
        'Idempotency-Key': idempotencyKey,
      })
    const listKey = `${mark} ${randomUUID()}`
    const { code, ...cart } = redemption()
    const redeemList = () =>
      call(
        'POST',
        '/api/v1/coupons/redeem',
        { ...cart, codes: [code] },
        {
          'X-API-Key': apiKey,
          'Idempotency-Key': listKey,
        },
      )
    expect((await redeemOnce()).status).toBe(200)
    const paying = {
      orderId: `${mark}-gift`,
      visitorId: laptop,
      userId: `${mark}-user`,
      amount: 700,
      currency: 'EUR',
    }
    const pay = () =>
      call(
        'POST',
        '/api/v1/coupons/redeem',
        { code: 'GIFT-1', ...paying },
        { 'Idempotency-Key': `${mark} gift` },
      )
    const paid = await pay()
    expect(paid.body).toMatchObject({ payment: { amount: 700, balance: 4_300, orderId: `${mark}-gift` } })
    const ledger = async () => (await manage('GET', `coupon-pools/${gifts.id}/ledger`)).body
    const ledgerBefore = await ledger()
    // Points, of which an order spends some.
    const club = `club-${randomUUID()}`
    await created('loyalty-programmes', {
      key: club,
      name: 'Club',
      spending: { points: 1, amount: 1, currency: 'EUR' },
    })
    const welcome = { userId: `${mark}-user`, points: 100, key: `${mark}-welcome`, reason: mark }
    expect((await manage('POST', `loyalty-programmes/${club}/adjust`, welcome)).status).toBe(200)
    const spending = {
      orderId: `${mark}-points`,
      userId: `${mark}-user`,
      currency: 'EUR',
      items: [{ sku: `${mark}-sku`, quantity: 1, unitAmount: 700 }],
      points: { programme: club, points: 60 },
    }
    await eventually('the programme is known, and points are spent', async () => {
      const headers = { 'Idempotency-Key': `${mark} points` }
      return (await call('POST', '/api/v1/coupons/redeem', spending, headers)).status === 200
    })
    const points = async () => (await manage('GET', `loyalty-programmes/${club}/ledger`)).body
    const pointsBefore = await points()
    expect(pointsBefore).toMatchObject({ balance: 40, adjusted: 100, spent: 60 })
    const assigned = await manage('POST', `coupon-pools/${unique.id}/assign`, { visitorId: laptop })
    expect(assigned.status).toBe(200)
    const held = await call('POST', '/api/v1/coupons/validate', {
      code: 'GAMMA-1',
      visitorId: phone,
      currency: 'EUR',
      items: [{ sku: `${mark}-sku`, quantity: 1, unitAmount: 100 }],
      hold: 1_800,
    })
    expect(held.body).toMatchObject({ holdId: expect.any(String) })
    await call('POST', '/api/v1/decide', { visitorId: laptop, keys: [decision.key] })
    await eventually('the exposure is stored', async () =>
      (await tablesWith(mark)).includes('decision.exposures'),
    )
    await track(
      [{ eventName: `${trigger.eventName}`, visitorId: phone, eventId: `${mark}-welcomed` }],
      '/api/v1/t',
    )
    await eventually('the email is sent', async () =>
      (await deliveries(trigger.id)).some(({ recipient, status }) => recipient && status === 'sent'),
    )
    await manage('POST', 'suppressions', { address: `${mark}@b.example` })
    const clicked = await untilAvailable(() =>
      fetch(`${base}/s/${link.code}`, {
        redirect: 'manual',
        headers: { 'User-Agent': `Mozilla/5.0 ${mark}` },
      }),
    )
    const url = clicked.headers.get('Location')
    await track([{ eventName: 'seen', visitorId: laptop, eventId: `${mark}-clicked`, properties: { url } }])
    // Attributed to the click.
    await track([order()])
    await eventually('the click is stored', async () => (await tablesWith(mark)).includes('link.clicks'))
    // In the quarantine and the dead letters.
    const { body: key } = await manage('POST', 'api-keys', {
      name: 'k',
      kind: 'sec',
      scopes: ['events:write'],
      validationMode: 'enforce',
    })
    const rejecting = { eventName: strict, visitorId: laptop }
    const reject = (event: Json) => call('POST', '/api/v1/t', event, { 'X-API-Key': `${key.key}` })
    const inQuarantine = async (text: string) => (await tablesWith(text)).includes('ingest.rejected_events')
    await eventually('the definition is known', async () => {
      await reject({ ...rejecting, visitorId: 'somebody-else' })
      return inQuarantine('somebody-else')
    })
    expect((await reject(rejecting)).status).toBe(202)
    await eventually('the event is in the quarantine', () => inQuarantine(mark))
    const record = anIngestRecord({
      projectId,
      event: { visitorId: `${mark}-unknown`, userId: `${mark}-user` },
    })
    const value = Buffer.from(JSON.stringify(record))
    const dead = {
      topic: ingestRecords.name,
      consumerGroup: 'enrichment',
      partition: 0,
      projectId,
      key: 'k',
      value,
    }
    const letters = Array.from({ length: 450 }, (_, n) => ({ ...dead, offset: BigInt(n) }))
    const exposure = { v: 1, projectId, userId: `${mark}-user`, exposedAt: new Date().toISOString() }
    letters.push({ ...dead, value: Buffer.from(JSON.stringify(exposure)), offset: 450n })
    await platform.db.prisma.deadLetter.createMany({
      data: letters.map((letter) => ({ ...letter, reason: 'a test', failedAt: new Date() })),
    })
    await allHandled()

    const before = await knownProfile(laptop)
    const events = (await storedEvents()).filter(({ visitorId }) => visitorId?.startsWith(mark)).length
    const exported = await manage('POST', `profiles/${before.id}/export`)
    expect(exported.status).toBe(200)
    expect(exported.body.events).toHaveLength(events + 1)
    expect(exported.body).toMatchObject({
      profiles: expect.arrayContaining([
        expect.objectContaining({ userId: `${mark}-user`, traits: { email: `${mark}@b.example` } }),
      ]),
      rejectedEvents: [expect.objectContaining({ record: expect.objectContaining({ projectId }) })],
    })
    expect(exported.body.identities).toHaveLength(3)
    expect(exported.body).toMatchObject({
      redemptions: [
        { orderId: redeemed.orderId, amount: 700, discountAmount: 140, items: [{ sku: `${mark}-sku` }] },
      ],
      cardMovements: [{ kind: 'spent', orderId: `${mark}-gift` }],
      pointMovements: [
        { kind: 'adjusted', points: 100, reason: mark },
        { kind: 'spent', points: -60, orderId: `${mark}-points` },
      ],
      pointAccounts: [{ programme: club, balance: 40 }],
      couponAssignments: [{ code: 'ALPHA1' }],
      couponHolds: [{ visitorId: phone, cart: { items: [{ sku: `${mark}-sku` }] } }],
      couponCounts: expect.arrayContaining([
        expect.objectContaining({ redeemed: 1, held: 0 }),
        expect.objectContaining({ redeemed: 0, held: 1 }),
      ]),
      exposures: [{ variant: 'on', subject: expect.stringContaining(mark) }],
      emailDeliveries: [{ recipient: `${mark}@b.example`, status: 'sent' }],
      emailCooldowns: [{ triggerId: trigger.id }],
      emailSuppressions: [{ address: `${mark}@b.example`, reason: 'manual' }],
      clicks: [{ linkId: link.id, userAgent: expect.stringContaining(mark) }],
    })
    const revenue = async () =>
      (await manage('GET', 'stats?metric=revenue&from=2020-01-01T00:00:00Z&interval=month')).body.series
    const earned = await revenue()

    // Records that were sent before the erasure wait in the queue and in the outbox.
    await back.dispose()
    const queued = { eventName: 'seen', visitorId: laptop, eventId: `${mark}-queued` }
    expect((await track([queued, order()], '/api/v1/t')).status).toBe(202)
    expect((await reject(rejecting)).status).toBe(202)
    expect((await redeemList()).status).toBe(200)
    expect((await redeem(redemption())).status).toBe(409)
    const welcomed = { eventName: `${trigger.eventName}`, visitorId: laptop, eventId: `${mark}-again` }
    expect((await track([welcomed], '/api/v1/t')).status).toBe(202)
    const spooled = anIngestRecord({ projectId, event: { visitorId: phone } })
    await platform.db.prisma.outboxRecord.create({
      data: {
        lane: 'ingest-spool',
        topic: ingestRecords.name,
        key: `${projectId}:${phone}`,
        value: JSON.stringify(spooled),
      },
    })
    expect(await tablesWith(mark)).toEqual([
      'coupon.attempts',
      'coupon.card_movements',
      'coupon.holds',
      'coupon.idempotency_keys',
      'coupon.point_movements',
      'coupon.redemptions',
      'decision.exposures',
      'email.deliveries',
      'email.suppressions',
      'ingest.conversions',
      'ingest.dead_letters',
      'ingest.identities',
      'ingest.outbox',
      'ingest.profiles',
      'ingest.rejected_events',
      'link.clicks',
    ])

    expect(await messagesWith(mark)).not.toEqual([])
    // Two devices, and the user of an event without a visitor.
    const visitors = await inAnalytics('visitors')
    const conversions = await inAnalytics('conversions')
    const storedBefore = (await storedEvents()).length
    expect(await inAnalytics('events')).toBe(storedBefore)

    // People who unsubscribed must not get emails again.
    const kept = ['email.suppressions']
    const stale = { 'If-Match': '"of another version"' }
    expect((await manage('DELETE', `profiles/${before.id}`, undefined, stale)).status).toBe(412)
    const erased = await manage('DELETE', `profiles/${before.id}`)
    expect(erased.status).toBe(202)
    expect(erased.body).toMatchObject({ profileId: before.id })
    // A slow machine leaves the rest to the consumers, which are stopped.
    await createPurger(platform).purgeAll(new AbortController().signal)
    expect(await tablesWith(mark)).toEqual(kept)
    expect(await messagesWith(mark)).toEqual([])
    const storedAfter = await storedEvents()
    expect(JSON.stringify(storedAfter)).not.toContain(mark)
    const removed = { events: storedBefore - storedAfter.length, profiles: 2, conversions: 2 }
    expect((await manage('GET', 'erasures?limit=1')).body.data).toMatchObject([{ removed, isComplete: true }])
    expect(await inAnalytics('visitors')).toBe(visitors - 3)
    expect(await inAnalytics('conversions')).toBe(conversions)
    // The audit log keeps the erasure, with an id that refers to nothing. Its record waits for the consumers.
    expect(await tablesWith(before.id)).toEqual(['core.audit_log', 'ingest.outbox'])
    expect((await manage('DELETE', `profiles/${before.id}`)).status).toBe(404)

    await startConsumers()
    // A client sends the same data again.
    await platform.bus.publish(ingestRecords, [{ key: `${projectId}:${laptop}`, value: record }])
    await allHandled()
    expect(await tablesWith(mark)).toEqual(kept)
    expect(await inAnalytics('visitors')).toBe(visitors - 3)
    expect(await inAnalytics('events')).toBe((await storedEvents()).length)
    expect(await revenue()).toEqual(earned)
    expect(selector.status).toBe(201)
    // Assigned coupons stay assigned, and a repeated request redeems nothing more.
    expect((await manage('GET', `coupon-pools/${pool.id}`)).body.redeemed).toBe(2)
    const { data: redemptions } = (await manage('GET', `redemptions?poolId=${pool.id}`)).body as {
      data: Json[]
    }
    const anonymous = { profileId: null, userId: null, orderId: null, amount: 700, metadata: {} }
    expect(redemptions).toMatchObject([anonymous, anonymous])
    expect((await redeemOnce()).body.redemption).toMatchObject(anonymous)
    // The ledger of gift cards keeps its sums, and a repeat pays nothing more.
    expect(await ledger()).toEqual(ledgerBefore)
    expect(await points()).toEqual(pointsBefore)
    expect((await pay()).body.payment).toMatchObject({ amount: 700, orderId: null })
    expect(await ledger()).toEqual(ledgerBefore)
    const { redemptions: repeated, items } = (await redeemList()).body as {
      redemptions: Json[]
      items?: Json[]
    }
    expect(repeated).toMatchObject([{ coupon: { code: pool.code }, redemption: anonymous }])
    expect(items).toBeUndefined()
    for (const { redemption } of repeated) expect(redemption).not.toHaveProperty('items')
    expect(await deliveries(trigger.id)).toContainEqual(
      expect.objectContaining({ status: 'sent', recipient: null, profileId: null }),
    )
    // The code still works for its owner, and is not assigned to anyone else.
    const next = await manage('POST', `coupon-pools/${unique.id}/assign`, { visitorId: 'somebody' })
    expect(next.body.code).toBe('BETA-1')
    expect((await redeem({ code: assigned.body.code as string, visitorId: 'bearer' })).status).toBe(200)

    // They return as a new person.
    expect((await track([{ eventName: 'seen', visitorId: laptop }])).status).toBe(200)
    const after = await knownProfile(laptop)
    expect(after.id).not.toBe(before.id)
    expect(after).toMatchObject({ userId: null, traits: {} })
    await call('POST', '/api/v1/identify?sync=1', { visitorId: laptop, userId: `${mark}-user` })
    const timeline = (await manage('GET', `profiles/${after.id}/timeline`)).body.data as Json[]
    expect(timeline.map(({ type }) => type)).toEqual(['identify', 'event'])
    // The id of an erased event stays reserved.
    await track([{ ...queued, eventId: order().eventId }])
    expect((await manage('GET', `profiles/${before.id}`)).status).toBe(404)
  })

  it('resets frequency caps for the new person', async () => {
    const { key } = await created('decisions', {
      key: `d-${randomUUID()}`,
      status: 'active',
      variants: [{ key: 'on', value: true }],
      fallbackVariant: 'on',
      rules: [{ variant: 'on' }],
      frequencyCap: { count: 1, windowSeconds: 600 },
    })
    const reasonFor = async (visitorId: string) => {
      const { body } = await call('POST', '/api/v1/decide', { visitorId, keys: [key] })
      return (body.decisions as Json[])[0]?.reason
    }
    await eventually('the decision is known', async () => (await reasonFor('nobody')) === 'CAPPED')
    const visitorId = `capped-${randomUUID()}`
    expect(await reasonFor(visitorId)).toBe('TARGETING_MATCH')
    await track([{ eventName: 'seen', visitorId }])
    expect(await reasonFor(visitorId)).toBe('CAPPED')
    const { id } = await knownProfile(visitorId)
    expect((await manage('DELETE', `profiles/${id}`)).status).toBe(202)
    await track([{ eventName: 'seen', visitorId }])
    await eventually('they are not capped', async () => (await reasonFor(visitorId)) === 'TARGETING_MATCH')
  })

  it('is completed by the consumers when its process died', async () => {
    const visitorId = `gone-${randomUUID()}`
    await track([{ eventName: 'seen', visitorId }])
    const { id } = await knownProfile(visitorId)
    await eraseProfile({ db: platform.db, now: Date.now }, { projectId, profileId: id })
    expect(await profileOf(visitorId)).toBeUndefined()
    await eventually('nothing is left', async () => (await tablesWith(visitorId)).length === 0)
  })

  it('also covers what is being stored at that moment, in both stores', async () => {
    const visitorId = `busy-${randomUUID()}`
    let stopped = false
    onTestFinished(() => {
      stopped = true
    })
    let sent = 0
    const send = async (path: string): Promise<void> => {
      while (!stopped) {
        await track(
          [
            { eventName: 'seen', visitorId },
            { eventName: 'seen', visitorId },
          ],
          path,
        )
        sent += 2
      }
    }
    const senders = ['/api/v1/t?sync=1', '/api/v1/t?sync=1', '/api/v1/t', '/api/v1/t'].map(send)
    let erasedAt = ''
    const ids: string[] = []
    for (let round = 1; round <= 3; round++) {
      await eventually('some were stored', () => sent > round * 100)
      const { id } = await eventually('they are known', () => profileOf(visitorId))
      const erased = await manage('DELETE', `profiles/${id}`)
      expect(erased.status).toBe(202)
      erasedAt = `${erased.body.erasedAt}`
      ids.push(id)
    }
    // However many were sent while it ran.
    const sentBefore = sent
    await eventually('some were stored after it', () => sent > sentBefore + 100)
    stopped = true
    await Promise.all(senders)
    await allHandled()
    await eventually('the purges are through', async () => {
      const { rowCount } = await platform.db.pool.query('SELECT FROM ingest.erasure_jobs')
      return rowCount === 0
    })
    expect(new Set(ids).size).toBe(3)
    const stored = await storedEvents()
    const ofVisitor = stored.filter((event) => event.visitorId === visitorId)
    expect(ofVisitor.filter(({ receivedAt }) => receivedAt <= new Date(erasedAt).toISOString())).toEqual([])
    expect(await inAnalytics('events')).toBe(stored.length)
    expect(ofVisitor.length).toBeGreaterThan(0)
    for (const id of ids) expect(await tablesWith(id)).toEqual(['core.audit_log'])
  })
})
