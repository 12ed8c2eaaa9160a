import { randomUUID } from 'node:crypto'
import type { SubscriptionView } from '@waymark/contracts/http/subscriptions'
import type { ReportMessage } from '@waymark/domain/subscription'
import { createEventWriter, resolveProfiles } from '@waymark/pipeline'
import { anEnrichedEvent, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRunQuery } from '../src/analytics/run-queries.ts'
import { reportDueSubscriptions } from '../src/subscriptions/report-subscriptions.ts'
import { type Management, startManagement } from './start-management.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A Monday. The clock of Berlin changes on the Sunday before. */
const MONDAY = Date.parse('2026-03-30T00:00:00Z')
const QUOTA = 8

describe.skipIf(!services)('subscriptions', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement({
      env: { QUOTA_SUBSCRIPTIONS: `${QUOTA}` },
      // The tests report subscriptions themselves, at times of their own.
      arrange: (service) => ({ ...service, loops: [] }),
    })
  })
  afterAll(() => management?.stop())

  const owner = async () => {
    const user = await management.register()
    const projectId = user.account.projects[0]?.id ?? ''
    const callAs =
      (browser: Pick<typeof user, 'request'>) =>
      async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
        const response = await browser.request(method, `/api/projects/${projectId}/${path}`, body, headers)
        const text = await response.text()
        const etag = response.headers.get('etag') ?? ''
        return { status: response.status, etag, body: text === '' ? {} : JSON.parse(text) }
      }
    const call = callAs(user)
    const insight = async (name: string, kind: string, query: object): Promise<string> => {
      const { status, body } = await call('POST', 'insights', { name, kind, query })
      expect([status, body.errors]).toEqual([201, undefined])
      return body.id
    }
    const orders = () =>
      insight('Orders', 'trends', { series: [{ eventName: 'order', metric: 'events' }], interval: 'week' })
    const dashboard = async (insightIds: string[]): Promise<string> =>
      (await call('POST', 'dashboards', { name: 'Shop', insightIds })).body.id
    /** A subscription that began before all times of the tests. */
    const create = async (fields: object): Promise<SubscriptionView> => {
      const given = {
        name: `s-${randomUUID()}`,
        frequency: 'day',
        timeZone: 'Europe/Berlin',
        emailRoles: ['owner'],
      }
      const { status, body } = await call('POST', 'subscriptions', { ...given, ...fields })
      expect([status, body.errors]).toEqual([201, undefined])
      await management.db.prisma.subscription.update({
        where: { id: body.id },
        data: { dueAt: new Date(0), sentUntil: new Date(0) },
      })
      return body
    }
    const read = async (id: string): Promise<SubscriptionView> =>
      (await call('GET', `subscriptions/${id}`)).body
    const add = async (count: number, at: number) => {
      const { db, eventStore, projectConfigs } = management.platform
      const visitors = Array.from({ length: count }, (_, index) => `v-${at}-${index}`)
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
        })),
      )
    }
    /** The queued emails by period: who gets them, and what they say. */
    const queued = async (subscriptionId: string) => {
      const reports = await management.db.prisma.subscriptionReport.findMany({
        where: { subscriptionId },
        include: { mails: { include: { recipient: true } } },
      })
      return reports.map(({ message, mails, periodStart, isTest }) => ({
        message: message as unknown as ReportMessage,
        from: periodStart.toISOString(),
        isTest,
        mails: mails.map(({ id }) => id),
        userIds: mails.map(({ recipient }) => recipient.userId).toSorted(),
      }))
    }
    const me = user.account.user.id
    return { projectId, me, call, callAs, insight, orders, dashboard, create, read, add, queued }
  }

  /** Reports what is due, in several processes. */
  const report = async (at: number, processes = 1) => {
    const { db, eventStore, log, images } = management.platform
    await Promise.all(
      Array.from({ length: processes }, async () => {
        const deps = {
          db,
          log,
          images,
          clock: () => at,
          publicUrl: 'https://waymark.example',
          runQuery: createRunQuery(eventStore),
        }
        while ((await reportDueSubscriptions(deps, new AbortController().signal)) > 0);
      }),
    )
  }

  it('are created, listed, changed only as they were read, and deleted, also with their dashboard', async () => {
    const { me, call, orders, dashboard } = await owner()
    const dashboardId = await dashboard([await orders()])
    const body = { name: 'Shop on Mondays', dashboardId, frequency: 'week', emailRoles: ['owner'] }
    const created = await call('POST', 'subscriptions', body)
    expect(created).toMatchObject({
      status: 201,
      body: {
        ...body,
        hour: 7,
        timeZone: 'UTC',
        userIds: [],
        unsubscribedUserIds: [],
        last: null,
        problem: null,
        version: 1,
      },
    })
    // It begins with the period that ends next.
    const next = new Date(created.body.nextAt)
    expect([next.getUTCDay(), next.getUTCHours(), next.getTime() > Date.now()]).toEqual([1, 7, true])
    const path = `subscriptions/${created.body.id}`
    expect((await call('GET', 'subscriptions')).body.data).toEqual([created.body])
    const change = { hour: 23, emailRoles: [], userIds: [me] }
    const changed = await call('PATCH', path, change, { 'If-Match': created.etag })
    expect(changed).toMatchObject({ status: 200, body: { ...body, ...change, version: 2 } })
    expect(new Date(changed.body.nextAt).getUTCHours()).toBe(23)
    expect((await call('PATCH', path, { name: 'Stale' }, { 'If-Match': created.etag })).status).toBe(412)
    const audit = await call('GET', `audit-log?resourceId=${created.body.id}`)
    expect(audit.body.data.map(({ operation }: { operation: string }) => operation)).toEqual([
      'updateSubscription',
      'createSubscription',
    ])
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('GET', path)).status).toBe(404)
    const other = await call('POST', 'subscriptions', body)
    expect((await call('DELETE', `dashboards/${dashboardId}`)).status).toBe(204)
    expect((await call('GET', `subscriptions/${other.body.id}`)).status).toBe(404)
  })

  it('are refused with the field at fault, and beyond the quota', async () => {
    const { me, call, dashboard } = await owner()
    const { dashboard: foreignDashboard, me: stranger } = await owner()
    const base = { name: 'x', dashboardId: await dashboard([]), frequency: 'day', userIds: [me] }
    const refusals: [object, string][] = [
      [{ userIds: [] }, 'emailRoles'],
      [{ userIds: [me, stranger] }, 'userIds.1'],
      [{ dashboardId: await foreignDashboard([]) }, 'dashboardId'],
      [{ frequency: 'hour' }, 'frequency'],
      [{ hour: 24 }, 'hour'],
      [{ timeZone: 'Berlin' }, 'timeZone'],
      [{ emailRoles: ['everyone'] }, 'emailRoles.0'],
      [{ userIds: Array.from({ length: 51 }, () => uuidv7()) }, 'userIds'],
    ]
    for (const [wrong, field] of refusals) {
      const { status, body } = await call('POST', 'subscriptions', { ...base, ...wrong })
      expect([status, body.errors?.[0]?.field], JSON.stringify(wrong)).toEqual([422, field])
    }
    for (let count = 0; count < QUOTA; count++)
      expect((await call('POST', 'subscriptions', base)).status).toBe(201)
    expect((await call('POST', 'subscriptions', base)).body).toMatchObject({
      quota: 'subscriptions',
      limit: QUOTA,
    })
    const [{ id }] = (await call('GET', 'subscriptions')).body.data
    const emptied = await call('PATCH', `subscriptions/${id}`, { userIds: [] })
    expect([emptied.status, emptied.body.errors[0].field]).toEqual([422, 'emailRoles'])
  })

  it('are reported once for each period, by one of two processes, and after a downtime for the newest one only', async () => {
    const { projectId, me, call, orders, insight, dashboard, create, read, add, queued } = await owner()
    const funnel = await insight('Checkout', 'funnel', {
      steps: [{ eventName: 'order' }, { eventName: 'paid' }],
      windowSeconds: 60,
    })
    const paths = await insight('Paths', 'paths', { depth: 3, limit: 10 })
    const viewer = await management.member(projectId, 'viewer')
    const leaver = await management.member(projectId, 'viewer')
    const dashboardId = await dashboard([await orders(), funnel, paths])
    const subscription = await create({ dashboardId, userIds: [viewer.userId, leaver.userId] })
    // The day of Berlin that has 23 hours, and the one before.
    const sunday = Date.parse('2026-03-28T23:00:00Z')
    await add(4, sunday - 1_000)
    await add(5, sunday)
    await add(1, sunday + 23 * HOUR_MS - 1)
    await add(9, sunday + 23 * HOUR_MS)

    await report(Date.parse('2026-03-30T05:00:00Z'), 2)
    const [first, ...others] = await queued(subscription.id)
    expect(others).toEqual([])
    expect(first).toMatchObject({
      isTest: false,
      from: '2026-03-28T23:00:00.000Z',
      userIds: [me, viewer.userId, leaver.userId].toSorted(),
      message: {
        subscription: subscription.name,
        dashboard: 'Shop',
        frequency: 'day',
        to: '2026-03-29T22:00:00.000Z',
        moreTiles: 0,
        address: `https://waymark.example/console/p/${projectId}/dashboards/${dashboardId}`,
      },
    })
    expect(first?.message.tiles).toMatchObject([
      {
        name: 'Orders',
        figures: [{ label: 'Events (order)', value: 6, before: 4, format: 'number' }],
        problem: null,
        picture: { alt: 'Events (order) by hour: 23 bars from 0 to 5' },
      },
      {
        name: 'Checkout',
        figures: [
          { label: 'People with order', value: 6, before: 4 },
          { label: 'Of these with paid', value: 0, before: 0, format: 'share' },
        ],
        picture: { alt: 'People by step: 2 bars from 0 to 6' },
      },
      { name: 'Paths', figures: [], problem: null, picture: null },
    ])
    const png = Buffer.from(first?.message.tiles[0]?.picture?.png ?? '', 'base64')
    expect([png.subarray(1, 4).toString(), png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([
      'PNG',
      1_120,
      192,
    ])
    expect(await read(subscription.id)).toMatchObject({
      nextAt: '2026-03-31T05:00:00.000Z',
      problem: null,
      last: {
        periodStart: '2026-03-28T23:00:00.000Z',
        periodEnd: '2026-03-29T22:00:00.000Z',
        mails: expect.arrayContaining([{ userId: me, status: 'pending', reason: null }]),
      },
    })

    // The same period is not sent again, neither at another hour.
    await call('PATCH', `subscriptions/${subscription.id}`, { hour: 8 })
    await management.db.prisma.subscription.updateMany({
      where: { id: subscription.id },
      data: { dueAt: new Date(0), sentUntil: new Date('2026-03-29T22:00:00Z') },
    })
    await report(Date.parse('2026-03-30T06:00:00Z'))
    expect((await queued(subscription.id)).map(({ mails }) => mails)).toEqual([first?.mails])

    // Three days later: one email about the newest day. Who has left or unsubscribed meanwhile gets none.
    await management.db.prisma.subscriptionRecipient.updateMany({
      where: { subscriptionId: subscription.id, userId: viewer.userId },
      data: { unsubscribedAt: new Date() },
    })
    expect((await call('DELETE', `members/${leaver.userId}`)).status).toBe(204)
    await report(Date.parse('2026-04-02T12:00:00Z'), 2)
    expect(await queued(subscription.id)).toMatchObject([{ from: '2026-03-31T22:00:00.000Z', userIds: [me] }])
    expect((await read(subscription.id)).unsubscribedUserIds).toEqual([viewer.userId])
  })

  it('name what could not be measured, after some attempts if that may help', async () => {
    const { call, orders, dashboard, create, read, queued } = await owner()
    const broken = await orders()
    const dashboardId = await dashboard([broken, await orders()])
    const subscription = await create({ dashboardId, frequency: 'month', timeZone: 'UTC' })
    // A stored query that this version does not understand any more.
    await management.db.prisma.insight.update({
      where: { id: broken },
      data: { query: { series: [{ metric: 'sum' }] } },
    })
    await report(MONDAY)
    const [found] = await queued(subscription.id)
    expect(found?.from).toBe('2026-02-01T00:00:00.000Z')
    expect(found?.message.tiles).toMatchObject([
      { problem: expect.stringContaining('series.0.property'), figures: [], picture: null },
      { problem: null, picture: { alt: 'Events (order) by day: 28 bars from 0 to 0' } },
    ])
    await management.db.prisma.insight.update({ where: { id: broken }, data: { query: {} } })
    const again = await create({ dashboardId, frequency: 'week', timeZone: 'UTC' })
    const at = MONDAY + 7 * HOUR_MS
    await report(at)
    expect(await queued(again.id)).toEqual([])
    expect((await read(again.id)).problem).toContain('tried again')
    await report(at + 5 * 60_000)
    expect(await queued(again.id)).toEqual([])
    await report(at + 10 * 60_000)
    expect((await queued(again.id))[0]?.message.tiles).toMatchObject([
      { problem: 'an error of the server' },
      { problem: null },
    ])
    expect((await read(again.id)).problem).toBeNull()
    expect((await call('GET', 'subscriptions')).body.data).toHaveLength(2)
  })

  it('are sent to one member as a test at any time, which changes nothing for the others', async () => {
    const { projectId, call, callAs, orders, dashboard, create, queued } = await owner()
    const subscription = await create({ dashboardId: await dashboard([await orders()]) })
    const at = Date.parse('2026-03-30T05:00:00Z')
    await report(at)
    const [regular] = await queued(subscription.id)
    const viewer = await management.member(projectId, 'viewer')
    const asViewer = callAs(viewer)
    expect((await asViewer('POST', `subscriptions/${subscription.id}/test`)).status).toBe(202)
    await management.db.prisma.subscription.update({
      where: { id: subscription.id },
      data: { dueAt: new Date(0) },
    })
    await report(at + HOUR_MS)
    const reports = await queued(subscription.id)
    expect(reports).toHaveLength(2)
    expect(reports).toContainEqual(regular)
    expect(reports).toContainEqual(
      expect.objectContaining({ isTest: true, userIds: [viewer.userId], from: regular?.from }),
    )
    const { body } = await call('GET', `subscriptions/${subscription.id}`)
    expect([body.nextAt, body.last.mails.length]).toEqual(['2026-03-31T05:00:00.000Z', 1])

    await management.db.prisma.subscriptionRecipient.updateMany({
      where: { subscriptionId: subscription.id, userId: viewer.userId },
      data: { unsubscribedAt: new Date() },
    })
    const again = await asViewer('POST', `subscriptions/${subscription.id}/resubscribe`)
    expect([again.status, again.body.unsubscribedUserIds]).toEqual([200, []])
  })

  it('have no email when no member would get it', async () => {
    const { orders, dashboard, create, read, queued } = await owner()
    const dashboardId = await dashboard([await orders()])
    const subscription = await create({ dashboardId, emailRoles: ['viewer'] })
    await report(MONDAY + DAY_MS)
    expect(await queued(subscription.id)).toEqual([])
    expect(await read(subscription.id)).toMatchObject({ last: null, problem: 'No member would get it' })
  })
})
