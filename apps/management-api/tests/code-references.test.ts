import { randomUUID } from 'node:crypto'
import { STALE_AFTER_MS } from '@waymark/domain/decision'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_LISTED, REPORT_EVERY_MS, reportDueProject } from '../src/decisions/stale-report.ts'
import { type Json, startWorld, type World } from './world.ts'

describe.skipIf(!services)('housekeeping of decisions', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const create = async (more: Json = {}): Promise<string> => {
    const key = `d-${randomUUID()}`
    const { status, body } = await world.manage('POST', 'decisions', {
      key,
      variants: [{ key: 'off', value: false }],
      fallbackVariant: 'off',
      rules: [],
      ...more,
    })
    expect([status, body.errors]).toEqual([201, undefined])
    return key
  }
  const report = async (repository: string, references: Json[], commit?: string) => {
    const body = { repository, references, ...(commit && { commit }) }
    return (await world.manage('PUT', 'code-references', body)).body
  }
  const placesOf = async (key: string) =>
    (await world.manage('GET', `decisions/${key}/references`)).body.data as Json[]

  it('stores the places of a repository in place of the earlier ones, and names unknown keys', async () => {
    const [key, other] = [await create(), await create()]
    const at = (decision: string, line: number) => ({ decision, file: 'src/shop.ts', line })
    await report('api', [at(key, 1)])
    expect(await report('shop', [at(key, 7), at(other, 8), at('none', 9), at('none', 10)], 'abc')).toEqual({
      repository: 'shop',
      references: 2,
      unknown: ['none'],
    })
    expect(await placesOf(key)).toMatchObject([
      { repository: 'shop', commit: 'abc', file: 'src/shop.ts', line: 7 },
      { repository: 'api', commit: null, line: 1 },
    ])
    await report('shop', [at(other, 3)])
    expect((await placesOf(key)).map(({ repository }) => repository)).toEqual(['api'])
    expect((await placesOf(other)).map(({ line }) => line)).toEqual([3])
  })

  it('keeps a decision from being archived while code refers to it, unless that is forced', async () => {
    const key = await create()
    await report('archive', [{ decision: key, file: 'src/shop.ts', line: 7 }])
    for (const refused of [
      await world.manage('POST', `decisions/${key}/archive`),
      await world.manage('PATCH', `decisions/${key}`, { status: 'archived' }),
    ])
      expect([refused.status, refused.body.error]).toEqual([
        409,
        expect.stringContaining('in 1 places, such as archive src/shop.ts:7'),
      ])
    expect((await world.manage('POST', `decisions/${key}/archive?force=true`)).body.status).toBe('archived')
    const removed = await create()
    await report('archive', [{ decision: removed, file: 'src/shop.ts', line: 7 }])
    await report('archive', [])
    expect((await world.manage('POST', `decisions/${removed}/archive`)).status).toBe(200)
  })

  it('finds decisions by their owner and tags', async () => {
    const [owner, tag] = [`team-${randomUUID()}`, `tag-${randomUUID()}`]
    const [both, owned] = [await create({ owner, tags: [tag, 'sale'] }), await create({ owner })]
    const keys = async (query: string) =>
      ((await world.manage('GET', `decisions?${query}`)).body.data as Json[]).map(({ key }) => key)
    expect(await keys(`owner=${owner}`)).toEqual([owned, both])
    expect(await keys(`tag=${tag}`)).toEqual([both])
    expect(await keys(`owner=nobody&tag=${tag}`)).toEqual([])
    const { body } = await world.manage('PATCH', `decisions/${both}`, { owner: null, tags: [] })
    expect([body.owner, body.tags]).toEqual([undefined, undefined])
  })

  it('says of a decision that everyone has got the same for 30 days', async () => {
    const key = await create({ status: 'active' })
    const read = async () => (await world.manage('GET', `decisions/${key}`)).body
    expect((await read()).stale).toBeUndefined()
    const changedAt = new Date(Date.now() - STALE_AFTER_MS)
    const since = changedAt.toISOString()
    const { decision } = world.platform.db.prisma
    await decision.updateMany({ where: { key }, data: { updatedAt: changedAt, evaluatedOn: new Date(0) } })
    expect((await read()).stale).toEqual({ reason: 'not_evaluated', since })
    await decision.updateMany({ where: { key }, data: { evaluatedOn: new Date() } })
    expect((await read()).stale).toEqual({ reason: 'one_variant', variant: 'off', since })
    await world.manage('PATCH', `decisions/${key}`, { name: 'Changed' })
    expect((await read()).stale).toBeUndefined()
  })

  it('queues a weekly email to the member who owns stale decisions, else to owners of the project', async () => {
    const { prisma } = world.platform.db
    const { tenantId } = await prisma.project.findUniqueOrThrow({ where: { id: world.projectId } })
    const { id: projectId } = await prisma.project.create({
      data: { id: randomUUID(), tenantId, name: 'Shop' },
    })
    const join = async (name: string, role: string): Promise<string> => {
      const email = `${name}-${randomUUID()}@shop.example`
      const { id: userId } = await prisma.user.create({
        data: { id: randomUUID(), email, name, passwordHash: '' },
      })
      await prisma.projectMember.create({ data: { projectId, userId, role } })
      return email
    }
    const [ann, bob] = [await join('ann', 'owner'), await join('bob', 'editor')]
    const updatedAt = new Date(Date.now() - STALE_AFTER_MS)
    const evaluatedOn = new Date(0)
    const add = (key: string, owner?: string, status = 'active') =>
      prisma.decision.create({
        data: { id: randomUUID(), projectId, key, status, definition: { owner }, updatedAt, evaluatedOn },
      })
    for (let index = 0; index < MAX_LISTED; index++) await add(`unowned-${100 + index}`)
    await add('of-a-team', 'team checkout')
    await add('of-bob', bob.toUpperCase())
    await add('a-draft', bob, 'draft')
    const queued = async (clock: () => number) => {
      while (
        (await Promise.all([1, 2, 3].map(() => reportDueProject({ db: world.platform.db, clock })))).some(
          Boolean,
        )
      );
      const notices = await prisma.staleNotice.findMany({
        where: { projectId },
        orderBy: { recipient: 'asc' },
      })
      await prisma.staleNotice.deleteMany({ where: { projectId } })
      return notices
    }
    expect(await queued(Date.now)).toEqual([])
    const inAWeek = () => Date.now() + REPORT_EVERY_MS
    const unused = { reason: 'not_evaluated', since: updatedAt.toISOString() }
    const [ofAnn, ofBob, ...others] = await queued(inAWeek)
    expect(others).toEqual([])
    expect(ofAnn).toMatchObject({ recipient: ann, total: MAX_LISTED + 1 })
    expect(ofAnn?.decisions).toHaveLength(MAX_LISTED)
    expect(ofBob).toMatchObject({ recipient: bob, total: 1, decisions: [{ key: 'of-bob', ...unused }] })
    expect(await queued(inAWeek)).toEqual([])
    await prisma.project.update({ where: { id: projectId }, data: { settings: { staleMails: false } } })
    expect(await queued(() => inAWeek() + REPORT_EVERY_MS)).toEqual([])
    await prisma.project.update({ where: { id: projectId }, data: { settings: {} } })
    expect(await queued(() => inAWeek() + 2 * REPORT_EVERY_MS)).toHaveLength(2)
  })

  it.each([
    [{ owner: '' }, 'owner'],
    [{ tags: ['a', 'a'] }, 'tags'],
    [{ tags: Array.from({ length: 21 }, (_, index) => `t${index}`) }, 'tags'],
    [{ tags: ['x'.repeat(51)] }, 'tags.0'],
  ])('refuses %j', async (more, field) => {
    const { status, body } = await world.manage('PATCH', `decisions/${await create()}`, more)
    expect([status, (body.errors as Json[])[0]?.field]).toEqual([422, field])
  })
})
