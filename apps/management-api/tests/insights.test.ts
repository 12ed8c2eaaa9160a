import { randomUUID } from 'node:crypto'
import { MAX_QUERY_BYTES } from '@waymark/contracts/http/analytics'
import { MAX_DASHBOARD_INSIGHTS } from '@waymark/contracts/http/insights'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from './world.ts'

const query = { series: [{ eventName: 'order', metric: 'people' }], interval: 'day' }
const QUOTA = 60

describe.skipIf(!services)('insights and dashboards', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({ QUOTA_INSIGHTS: `${QUOTA}`, QUOTA_DASHBOARDS: '3' })
  })
  afterAll(() => world?.stop())

  const insight = (body: object = {}) =>
    world.manage('POST', 'insights', { name: 'Orders', kind: 'trends', query, ...body })
  const created = async (): Promise<string> => {
    const { status, body } = await insight()
    expect(status).toBe(201)
    return `${body.id}`
  }

  it('saves, lists, changes and deletes a query', async () => {
    const id = await created()
    const read = await world.manage('GET', `insights/${id}`)
    expect(read.body).toMatchObject({ id, name: 'Orders', kind: 'trends', query, version: 1 })
    expect((await world.readAll('insights', 1)).map((one) => one.id)).toContain(id)
    const change = (body: object, etag: string) =>
      world.manage('PATCH', `insights/${id}`, body, { 'If-Match': etag })
    const renamed = await change({ name: 'People who order' }, read.etag)
    expect(renamed).toMatchObject({ status: 200, body: { name: 'People who order', query, version: 2 } })
    expect((await change({ name: 'Stale' }, read.etag)).status).toBe(412)
    const other = { kind: 'paths', query: { depth: 3, limit: 10 } }
    expect(await change(other, renamed.etag)).toMatchObject({ status: 200, body: other })
    const audit = await world.manage('GET', `audit-log?resourceId=${id}`)
    expect(audit.body.data).toMatchObject([
      { operation: 'updateInsight' },
      {},
      { operation: 'createInsight' },
    ])
    expect((await world.manage('DELETE', `insights/${id}`)).status).toBe(204)
    expect((await world.manage('GET', `insights/${id}`)).status).toBe(404)
  })

  it.each([
    ['trends', { ...query, series: [] }, 'query.series'],
    ['trends', { ...query, interval: 'minute' }, 'query.interval'],
    ['trends', { ...query, timeZone: 'Berlin' }, 'query.timeZone'],
    ['trends', { ...query, series: [{ metric: 'sum' }] }, 'query.series.0.property'],
    ['trends', { ...query, breakdown: 'price' }, 'query.breakdown'],
    ['trends', { ...query, more: 1 }, 'query.more'],
    ['trends', { ...query, from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'query.from'],
    ['funnel', query, 'query.steps'],
    ['funnel', { steps: [{ eventName: 'a' }], windowSeconds: 1 }, 'query.steps'],
    ['retention', { startEvent: 'a', interval: 'day', periods: 1 }, 'query.returnEvent'],
    ['paths', { depth: 7, limit: 1 }, 'query.depth'],
  ])('refuses the query of a %s insight %j for its %s', async (kind, wrong, field) => {
    const refused = await insight({ kind, query: wrong })
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ field }] } })
    expect(refused.body.error).toContain(field)
  })

  it.each([
    [{ ...query, from: '2026-01-01T00:00:00Z' }],
    [{ ...query, to: '2026-01-01T00:00:00Z' }],
    [{ ...query, from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' }],
  ])('accepts the query %j', async (good) => {
    expect(await insight({ query: good })).toMatchObject({ status: 201, body: { query: good } })
  })

  it(`accepts a query of ${MAX_QUERY_BYTES} bytes and no more`, async () => {
    const ofBytes = (bytes: number) => {
      const value = (length: number) => 'x'.repeat(length)
      const series = (texts: string[]) => [
        { metric: 'events', filters: [{ property: 'eventName', op: 'in', value: texts.slice(0, 100) }] },
        { metric: 'events', filters: [{ property: 'eventName', op: 'in', value: texts.slice(100) }] },
      ]
      const texts = Array.from({ length: 150 }, () => value(400))
      const spare = bytes - JSON.stringify({ interval: 'day', series: series(texts) }).length
      return {
        interval: 'day',
        series: series(texts.map((text, n) => text + value(Math.floor((spare + n) / 150)))),
      }
    }
    expect(JSON.stringify(ofBytes(MAX_QUERY_BYTES))).toHaveLength(MAX_QUERY_BYTES)
    expect((await insight({ query: ofBytes(MAX_QUERY_BYTES) })).status).toBe(201)
    const refused = await insight({ query: ofBytes(MAX_QUERY_BYTES + 1) })
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ field: 'query', rule: 'max_bytes' }] } })
  })

  it('shows insights in order, without deleted ones', async () => {
    const [a, b] = [await created(), await created()]
    const made = await world.manage('POST', 'dashboards', { name: 'Shop', insightIds: [b, a] })
    expect(made).toMatchObject({ status: 201, body: { name: 'Shop', insightIds: [b, a], version: 1 } })
    const path = `dashboards/${made.body.id}`
    const moved = await world.manage('PATCH', path, { insightIds: [a, b] }, { 'If-Match': made.etag })
    expect(moved).toMatchObject({ status: 200, body: { insightIds: [a, b], version: 2 } })
    expect((await world.manage('PATCH', path, { name: 'x' }, { 'If-Match': made.etag })).status).toBe(412)
    expect((await world.manage('DELETE', `insights/${a}`)).status).toBe(204)
    expect(await world.manage('GET', path)).toMatchObject({ body: { insightIds: [b], version: 3 } })
    const missing = await world.manage('PATCH', path, { insightIds: [b, randomUUID()] })
    expect(missing).toMatchObject({ status: 422, body: { errors: [{ field: 'insightIds.1' }] } })
    expect((await world.readAll('dashboards', 1)).map(({ id }) => id)).toContain(made.body.id)
    expect((await world.manage('DELETE', path)).status).toBe(204)
    expect((await world.manage('GET', path)).status).toBe(404)
  })

  it(`shows up to ${MAX_DASHBOARD_INSIGHTS} insights on a dashboard`, async () => {
    const { prisma } = world.platform.db
    await prisma.insight.deleteMany({ where: { projectId: world.projectId } })
    const ids = Array.from({ length: MAX_DASHBOARD_INSIGHTS + 1 }, () => randomUUID())
    const common = { projectId: world.projectId, name: 'Orders', kind: 'trends', query }
    await prisma.insight.createMany({ data: ids.map((id) => ({ id, ...common })) })
    const made = (insightIds: string[]) => world.manage('POST', 'dashboards', { name: 'All', insightIds })
    expect((await made(ids.slice(1))).status).toBe(201)
    expect(await made(ids)).toMatchObject({ status: 422, body: { errors: [{ field: 'insightIds' }] } })
    expect(await made([`${ids[0]}`, `${ids[0]}`])).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'insightIds' }] },
    })
  })

  it('enforces the quotas', async () => {
    const { prisma } = world.platform.db
    await prisma.insight.deleteMany({ where: { projectId: world.projectId } })
    const common = { projectId: world.projectId, name: 'Orders', kind: 'trends', query }
    const data = Array.from({ length: QUOTA - 1 }, () => ({ id: randomUUID(), ...common }))
    await prisma.insight.createMany({ data })
    expect((await insight()).status).toBe(201)
    expect(await insight()).toMatchObject({ status: 422, body: { quota: 'insights', limit: QUOTA } })
    const dashboard = () => world.manage('POST', 'dashboards', { name: 'Shop', insightIds: [] })
    await prisma.dashboard.deleteMany({ where: { projectId: world.projectId } })
    const statuses = [await dashboard(), await dashboard(), await dashboard(), await dashboard()]
    expect(statuses.map(({ status }) => status)).toEqual([201, 201, 201, 422])
  })

  it('of another project are not found', async () => {
    const id = await created().catch(() => undefined)
    const other = randomUUID()
    await world.platform.db.prisma.insight.deleteMany({ where: { projectId: world.projectId } })
    const tenant = await world.platform.db.prisma.project.findFirstOrThrow({ where: { id: world.projectId } })
    await world.platform.db.prisma.project.create({
      data: { id: other, tenantId: tenant.tenantId, name: 'Other' },
    })
    const foreign = await world.platform.db.prisma.insight.create({
      data: { id: randomUUID(), projectId: other, name: 'Theirs', kind: 'trends', query },
    })
    expect(id).toBeUndefined()
    for (const method of ['GET', 'DELETE'])
      expect((await world.manage(method, `insights/${foreign.id}`)).status).toBe(404)
    const taken = await world.manage('POST', 'dashboards', { name: 'Theirs', insightIds: [foreign.id] })
    expect(taken.status).toBe(422)
  })
})
