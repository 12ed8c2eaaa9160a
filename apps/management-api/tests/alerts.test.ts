import { randomUUID } from 'node:crypto'
import { ALERT_HISTORY_DAYS, type AlertView } from '@waymark/contracts/http/alerts'
import { maskedUrl } from '@waymark/contracts/masked-url'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { createEventWriter, resolveProfiles } from '@waymark/pipeline'
import { anEnrichedEvent, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findDueAlerts } from '../src/alerts/alert-queries.ts'
import { evaluateDueAlerts, SETTLE_MS } from '../src/alerts/evaluate-alerts.ts'
import { createRunQuery } from '../src/analytics/run-queries.ts'
import { type Management, startManagement } from './start-management.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A Monday. */
const BASE = Date.parse('2026-06-01T00:00:00Z')
const SLACK = 'https://hooks.slack.example/services/T0/B0/secret-part'
const QUOTA = 30

describe.skipIf(!services)('alerts', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement({
      env: { QUOTA_ALERTS: `${QUOTA}` },
      // The tests evaluate alerts themselves, at times of their own.
      arrange: (service) => ({ ...service, loops: [] }),
    })
  })
  afterAll(() => management?.stop())

  const owner = async () => {
    const user = await management.register()
    const projectId = user.account.projects[0]?.id ?? ''
    const call = async (
      method: string,
      path: string,
      body?: object,
      headers: Record<string, string> = {},
    ) => {
      const response = await user.request(method, `/api/projects/${projectId}/${path}`, body, headers)
      const text = await response.text()
      const etag = response.headers.get('etag') ?? ''
      return { status: response.status, etag, text, body: text === '' ? {} : JSON.parse(text) }
    }
    const insight = async (kind: string, query: object): Promise<string> => {
      const { status, body } = await call('POST', 'insights', { name: 'Orders', kind, query })
      expect(status).toBe(201)
      return body.id
    }
    const trend = (series: object = { eventName: 'order', metric: 'events' }) =>
      insight('trends', { series: [series], interval: 'week', breakdown: 'context.country' })
    /** An alert that is due at `BASE`. */
    const create = async (fields: object): Promise<AlertView> => {
      const given = { name: `a-${randomUUID()}`, interval: 'hour', ...fields }
      const { status, body } = await call('POST', 'alerts', given)
      expect([status, body.errors]).toEqual([201, undefined])
      await due(body.id)
      return body
    }
    const due = async (id: string) => {
      await management.db.prisma.alert.update({ where: { id }, data: { dueAt: new Date(BASE) } })
    }
    const read = async (id: string): Promise<AlertView> => (await call('GET', `alerts/${id}`)).body
    const add = async (count: number, at: number, fields: Partial<EnrichedEvent> = {}) => {
      const { db, eventStore, projectConfigs } = management.platform
      const visitors = Array.from({ length: count }, (_, index) => fields.visitorId ?? `v-${at}-${index}`)
      const profiles = await resolveProfiles(
        db.pool,
        visitors.map((visitorId) => ({ projectId, visitorId, userId: null })),
      )
      await createEventWriter({ db, eventStore, projectConfigs })(
        visitors.map((visitorId, index) => ({
          ...anEnrichedEvent({
            projectId,
            event: { eventName: 'order', visitorId, properties: {} },
            receivedAt: new Date(at + index).toISOString(),
          }),
          profileId: profiles[index] ?? null,
          ...fields,
        })),
      )
    }
    const queued = async (alertId: string) => {
      const notices = await management.db.prisma.alertNotice.findMany({
        where: { alertId },
        orderBy: { id: 'asc' },
      })
      const records = await management.db.prisma.outboxRecord.findMany({
        where: { topic: 'alerts.changed.v1', key: `${projectId}:${alertId}` },
        orderBy: { id: 'asc' },
      })
      return {
        notices: notices.map(({ channel, recipient, message }) => ({ channel, recipient, message })),
        records: records.map(({ value }) => JSON.parse(`${value}`)),
      }
    }
    return { user, projectId, call, insight, trend, create, due, read, add, queued }
  }

  /** Evaluates what is due, in several processes. */
  const evaluate = async (at: number, processes = 1) => {
    const { db, eventStore, log } = management.platform
    const deps = { db, log, clock: () => at, publicUrl: 'https://waymark.example' }
    await Promise.all(
      Array.from({ length: processes }, async () => {
        const own = { ...deps, runQuery: createRunQuery(eventStore) }
        while ((await evaluateDueAlerts(own, new AbortController().signal)) > 0);
      }),
    )
  }
  /** When the hour that begins so many hours after `BASE` is evaluated. */
  const afterHour = (hour: number) => BASE + (hour + 1) * HOUR_MS + SETTLE_MS
  const afterDay = (day: number) => BASE + (day + 1) * DAY_MS + SETTLE_MS

  it('are created, listed, changed only as they were read, and deleted; a secret address is never shown', async () => {
    const { call, trend } = await owner()
    const insightId = await trend()
    const body = {
      name: 'Few orders',
      measure: { insightId },
      condition: { type: 'below', value: 5 },
      interval: 'hour',
      slackUrl: SLACK,
    }
    const created = await call('POST', 'alerts', body)
    expect(created).toMatchObject({
      status: 201,
      body: {
        ...body,
        slackUrl: maskedUrl(SLACK),
        timeZone: 'UTC',
        emailRoles: [],
        webhooks: true,
        state: 'noData',
        firingSince: null,
        mutedUntil: null,
        bucket: null,
        version: 1,
      },
    })
    const path = `alerts/${created.body.id}`
    expect((await call('GET', 'alerts')).body.data).toEqual([created.body])
    const change = { name: 'Fewer orders', slackUrl: maskedUrl(SLACK), emailRoles: ['admin'] }
    const changed = await call('PATCH', path, change, { 'If-Match': created.etag })
    expect(changed).toMatchObject({ status: 200, body: { ...change, measure: { insightId }, version: 2 } })
    expect((await call('PATCH', path, { name: 'Stale' }, { 'If-Match': created.etag })).status).toBe(412)
    const stored = await management.db.prisma.alert.findUniqueOrThrow({ where: { id: created.body.id } })
    expect(stored.slackUrl).toBe(SLACK)
    expect((await call('PATCH', path, { slackUrl: null })).body.slackUrl).toBeNull()
    for (const { text } of [created, changed, await call('GET', path)])
      expect(text).not.toContain('secret-part')

    expect(await call('DELETE', `insights/${insightId}`)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('Fewer orders') },
    })
    const audit = await call('GET', `audit-log?resourceId=${created.body.id}`)
    expect(audit.body.data.map(({ operation }: { operation: string }) => operation)).toEqual([
      'updateAlert',
      'updateAlert',
      'createAlert',
    ])
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('GET', path)).status).toBe(404)
    expect((await call('DELETE', `insights/${insightId}`)).status).toBe(204)
  })

  it('are refused with the field at fault', async () => {
    const { call, trend, insight } = await owner()
    const insightId = await trend()
    const revenue = await trend({ metric: 'revenue' })
    const funnel = await insight('funnel', {
      steps: [{ eventName: 'a' }, { eventName: 'b' }],
      windowSeconds: 60,
    })
    const paths = await insight('paths', { depth: 3, limit: 10 })
    const base = { name: 'x', measure: { insightId }, condition: { type: 'unusual' }, interval: 'hour' }
    const web = { figure: 'visits' }
    const refusals: [object, string][] = [
      [{ measure: {} }, 'measure'],
      [{ measure: { insightId, web } }, 'measure'],
      [{ measure: { web, step: 1 } }, 'measure.step'],
      [
        { measure: { web: { ...web, filters: [{ property: 'price', op: 'exists' }] } } },
        'measure.web.filters.0.property',
      ],
      [{ measure: { insightId: uuidv7() } }, 'measure.insightId'],
      [{ measure: { insightId: paths } }, 'measure.insightId'],
      [{ measure: { insightId, series: 1 } }, 'measure.series'],
      [{ measure: { insightId, step: 1 } }, 'measure.step'],
      [{ measure: { insightId, currency: 'EUR' } }, 'measure.currency'],
      [{ measure: { insightId: revenue } }, 'measure.currency'],
      [{ measure: { insightId: funnel, step: 2 } }, 'measure.step'],
      [{ measure: { insightId: funnel, series: 0 } }, 'measure.series'],
      [{ condition: { type: 'unusual', value: 1 } }, 'condition.value'],
      [{ condition: { type: 'above' } }, 'condition.value'],
      [{ condition: { type: 'changedBy', value: 0 } }, 'condition.value'],
      [{ condition: { type: 'below', value: 1, direction: 'up' } }, 'condition.direction'],
      [{ timeZone: 'Berlin' }, 'timeZone'],
      [{ interval: 'week' }, 'interval'],
      [{ emailRoles: ['everyone'] }, 'emailRoles.0'],
      [{ slackUrl: 'ftp://slack.example/' }, 'slackUrl'],
      [{ slackUrl: 'https://user:secret@slack.example/' }, 'slackUrl'],
      [{ slackUrl: maskedUrl(SLACK) }, 'slackUrl'],
    ]
    for (const [wrong, field] of refusals) {
      const { status, body, text } = await call('POST', 'alerts', { ...base, ...wrong })
      expect([status, body.errors?.[0]?.field], JSON.stringify(wrong)).toEqual([422, field])
      expect(text).not.toContain('secret@')
    }
    for (const measure of [{ insightId: revenue, currency: 'EUR' }, { insightId: funnel, step: 1 }, { web }])
      expect((await call('POST', 'alerts', { ...base, measure })).status).toBe(201)
    const { body } = await call('GET', 'alerts')
    const mute = (until: string) => call('POST', `alerts/${body.data[0].id}/mute`, { until })
    expect((await mute('2020-01-01T00:00:00Z')).body.errors[0].field).toBe('until')
    for (let count = 3; count < QUOTA; count++) expect((await call('POST', 'alerts', base)).status).toBe(201)
    expect((await call('POST', 'alerts', base)).body).toMatchObject({ quota: 'alerts', limit: QUOTA })
  })

  it('send one message when they begin to fire and one when that ends, also by two processes and after a downtime', async () => {
    const { user, projectId, call, trend, create, read, add, queued } = await owner()
    const alert = await create({
      measure: { insightId: await trend() },
      condition: { type: 'below', value: 5 },
      emailRoles: ['owner', 'admin'],
      slackUrl: SLACK,
    })
    await add(10, BASE)
    await add(2, BASE + HOUR_MS)
    await add(1, BASE + 2 * HOUR_MS)
    await add(7, BASE + 10 * HOUR_MS)
    // Five minutes after its end, the interval is complete.
    await evaluate(afterHour(0) - 1)
    expect(await read(alert.id)).toMatchObject({
      bucket: '2026-05-31T23:00:00.000Z',
      value: 0,
      state: 'firing',
    })
    await evaluate(afterHour(0))
    expect(await read(alert.id)).toMatchObject({ state: 'ok', value: 10, firingSince: null })
    expect((await queued(alert.id)).records.map(({ change }) => change)).toEqual(['fired', 'resolved'])

    await evaluate(afterHour(1), 2)
    await evaluate(afterHour(1), 2)
    await evaluate(afterHour(2), 2)
    expect(await read(alert.id)).toMatchObject({
      state: 'firing',
      value: 1,
      bucket: new Date(BASE + 2 * HOUR_MS).toISOString(),
      firingSince: new Date(afterHour(1)).toISOString(),
    })
    // Of the hours between, only the newest one is evaluated.
    await evaluate(afterHour(10) + 20 * 60_000, 2)
    expect(await read(alert.id)).toMatchObject({ state: 'ok', value: 7, firingSince: null })
    const { notices, records } = await queued(alert.id)
    expect(records.slice(2)).toMatchObject([
      {
        v: 1,
        projectId,
        alertId: alert.id,
        name: alert.name,
        change: 'fired',
        value: 2,
        bucket: new Date(BASE + HOUR_MS).toISOString(),
        expected: null,
        deviation: null,
      },
      { change: 'resolved', value: 7 },
    ])
    expect(new Set(records.map(({ id }) => id)).size).toBe(4)
    const expected = (['fired', 'resolved'] as const).flatMap((change) =>
      [
        ['email', user.account.user.email],
        ['slack', SLACK],
      ].map(([channel, recipient]) => ({ channel, recipient, change })),
    )
    expect(
      notices.map(({ channel, recipient, message }) => ({
        channel,
        recipient,
        change: (message as { change: string }).change,
      })),
    ).toEqual([...expected, ...expected])
    expect(notices.at(-1)?.message).toMatchObject({
      name: alert.name,
      value: 7,
      address: `https://waymark.example/console/p/${projectId}/alerts/${alert.id}`,
    })

    const history = async (query: string) => (await call('GET', `alerts/${alert.id}/history${query}`)).body
    expect((await history('')).data).toMatchObject([
      { bucket: new Date(BASE + 10 * HOUR_MS).toISOString(), change: 'resolved', value: 7 },
      { bucket: new Date(BASE + 2 * HOUR_MS).toISOString(), change: null, state: 'firing', value: 1 },
      { change: 'fired', value: 2 },
      { change: 'resolved', value: 10 },
      { change: 'fired', value: 0 },
    ])
    const page = await history('?changes=true&limit=3')
    expect(page.data.map(({ change }: { change: string }) => change)).toEqual([
      'resolved',
      'fired',
      'resolved',
    ])
    expect((await history(`?changes=true&cursor=${page.nextCursor}`)).data).toHaveLength(1)
    // History ends after its days.
    await evaluate(afterHour(2) + ALERT_HISTORY_DAYS * DAY_MS + HOUR_MS)
    expect((await history('')).data.map(({ value }: { value: number }) => value)).toEqual([0, 7])
  })

  it('send nothing while they are muted, and then what is still true', async () => {
    const { call, trend, create, read, add, queued } = await owner()
    const alert = await create({
      measure: { insightId: await trend() },
      condition: { type: 'above', value: 3 },
    })
    const path = `alerts/${alert.id}`
    const until = new Date(Date.now() + DAY_MS).toISOString()
    expect(await call('POST', `${path}/mute`, { until })).toMatchObject({
      status: 200,
      body: { mutedUntil: until },
    })
    await add(4, BASE)
    await add(3, BASE + HOUR_MS)
    await add(5, BASE + 2 * HOUR_MS)
    await add(6, BASE + 3 * HOUR_MS)
    await evaluate(afterHour(0))
    await evaluate(afterHour(1))
    await evaluate(afterHour(2))
    expect(await read(alert.id)).toMatchObject({ state: 'firing', value: 5 })
    expect((await queued(alert.id)).records).toEqual([])
    expect((await call('POST', `${path}/unmute`)).body.mutedUntil).toBeNull()
    await evaluate(afterHour(3))
    await evaluate(afterHour(4))
    expect((await queued(alert.id)).records).toMatchObject([
      { change: 'fired', value: 6 },
      { change: 'resolved', value: 0 },
    ])
    expect((await queued(alert.id)).notices).toEqual([])
  })

  it('compare with the interval before, and know when there is nothing to compare with', async () => {
    const { insight, trend, create, read, add, queued } = await owner()
    const insightId = await trend()
    const change = (value: number, more: object = {}) =>
      create({ measure: { insightId }, condition: { type: 'changedBy', value, ...more } })
    const fell = await change(60, { direction: 'down' })
    const rose = await change(60, { direction: 'up' })
    const mean = await create({
      measure: {
        insightId: await trend({ eventName: 'order', metric: 'avg', property: 'properties.total' }),
      },
      condition: { type: 'above', value: 15 },
      webhooks: false,
    })
    const funnel = await create({
      measure: {
        insightId: await insight('funnel', {
          steps: [{ eventName: 'order' }, { eventName: 'paid' }],
          windowSeconds: 7 * 24 * 3_600,
        }),
      },
      condition: { type: 'below', value: 0.5 },
    })
    const revenue = await create({
      measure: { insightId: await trend({ metric: 'revenue' }), currency: 'EUR' },
      condition: { type: 'above', value: 499 },
    })
    const bounces = await create({
      measure: { web: { figure: 'bounceRate' } },
      condition: { type: 'above', value: 0.5 },
    })
    const conversion = { selectorId: uuidv7(), amount: 500, currency: 'EUR', quantity: null }
    await add(10, BASE, { properties: { total: 20 } })
    await add(4, BASE + HOUR_MS, { properties: { total: 10 }, conversions: [] })
    // Within an hour after the order, which is after the end of its hour.
    const paidBy = { visitorId: `v-${BASE}-9` }
    await add(1, BASE + HOUR_MS + 1, { eventName: 'paid', ...paidBy })
    await add(1, BASE + HOUR_MS, { eventName: 'conversion', conversions: [conversion] })
    await evaluate(afterHour(0))
    expect(await read(fell.id)).toMatchObject({ state: 'noData', value: 10, expected: 0 })
    expect(await read(mean.id)).toMatchObject({ state: 'firing', value: 20 })
    expect(await read(bounces.id)).toMatchObject({ state: 'noData', value: null })
    expect(await read(revenue.id)).toMatchObject({ state: 'ok', value: 0 })
    await evaluate(afterHour(1))
    expect(await read(fell.id)).toMatchObject({ state: 'firing', value: 4, expected: 10, deviation: -60 })
    expect(await read(rose.id)).toMatchObject({ state: 'ok', deviation: -60 })
    expect(await read(mean.id)).toMatchObject({ state: 'ok', value: 10 })
    expect(await read(funnel.id)).toMatchObject({
      state: 'firing',
      value: 0.1,
      bucket: new Date(BASE).toISOString(),
    })
    expect(await read(revenue.id)).toMatchObject({ state: 'firing', value: 500 })
    await evaluate(afterHour(2))
    // Without data it is not known whether what fired has ended.
    await evaluate(afterHour(3))
    expect(await read(fell.id)).toMatchObject({ state: 'ok', value: 0, expected: 0 })
    expect(await read(mean.id)).toMatchObject({ state: 'noData', value: null })
    expect(await read(funnel.id)).toMatchObject({ state: 'noData', firingSince: expect.any(String) })
    expect((await queued(funnel.id)).records.map(({ change: made }) => made)).toEqual(['fired'])
    expect((await queued(mean.id)).records).toEqual([])
  })

  it('find what is unusual for the weekday', async () => {
    const { call, trend, create, read, add, queued, due } = await owner()
    const alert = await create({
      measure: { insightId: await trend() },
      condition: { type: 'unusual', direction: 'down' },
      interval: 'day',
      timeZone: 'Europe/Berlin',
    })
    // Fewer on Sundays.
    const usual = (day: number) => (day % 7 === 6 ? 10 : 40)
    for (let day = 0; day < 28; day++) await add(usual(day) + (day % 3), BASE + day * DAY_MS + 12 * HOUR_MS)
    await evaluate(afterDay(6))
    expect(await read(alert.id)).toMatchObject({ state: 'noData', value: 10 })
    await evaluate(afterDay(27))
    expect(await read(alert.id)).toMatchObject({
      state: 'ok',
      value: 10,
      expected: 11,
      bucket: new Date(BASE + 27 * DAY_MS - 2 * HOUR_MS).toISOString(),
    })
    await add(8, BASE + 28 * DAY_MS + 12 * HOUR_MS)
    await evaluate(afterDay(28))
    const found = await read(alert.id)
    expect(found).toMatchObject({ state: 'firing', value: 8, expected: 40.5 })
    expect(found.deviation).toBeLessThan(-5)
    expect((await queued(alert.id)).records).toMatchObject([{ change: 'fired', value: 8 }])

    // A changed rule is judged at once, and ends what the former one has found.
    await call('PATCH', `alerts/${alert.id}`, { condition: { type: 'below', value: 8 } })
    await due(alert.id)
    await evaluate(afterDay(28))
    expect(await read(alert.id)).toMatchObject({ state: 'ok', value: 8, expected: null })
    expect((await queued(alert.id)).records.map(({ change }) => change)).toEqual(['fired', 'resolved'])
  })

  it('say why they cannot be evaluated, and are evaluated again a minute later', async () => {
    const { call, trend, create, read } = await owner()
    const insightId = await trend()
    const alert = await create({ measure: { insightId }, condition: { type: 'above', value: 3 } })
    await call('PATCH', `insights/${insightId}`, { kind: 'paths', query: { depth: 3, limit: 10 } })
    await evaluate(afterHour(0))
    expect(await read(alert.id)).toMatchObject({
      state: 'noData',
      bucket: null,
      problem: expect.stringContaining('measure.insightId must be the id of a trend or of a funnel'),
    })
    await call('PATCH', `insights/${insightId}`, {
      kind: 'trends',
      query: { series: [{ metric: 'events' }], interval: 'day' },
    })
    await evaluate(afterHour(0) + 59_000)
    expect((await read(alert.id)).problem).not.toBeNull()
    await evaluate(afterHour(0) + 60_000)
    expect(await read(alert.id)).toMatchObject({ state: 'ok', problem: null })
  })

  it('of one project with very many do not delay those of others', async () => {
    const [many, other] = [await owner(), await owner()]
    const measure = { web: { figure: 'visits' } }
    const condition = { type: 'above', value: 1 }
    for (let count = 0; count < 8; count++) await many.create({ measure, condition })
    const late = await other.create({ measure, condition })
    await management.db.prisma.alert.updateMany({
      where: { projectId: many.projectId },
      data: { dueAt: new Date(BASE - 3 * DAY_MS) },
    })
    const ids = await findDueAlerts(management.db.prisma, new Date(BASE), 1_000)
    const own = await management.db.prisma.alert.findMany({ where: { projectId: many.projectId } })
    expect(ids.filter((id) => own.some((one) => one.id === id))).toHaveLength(5)
    expect(ids).toContain(late.id)
  })
})
