import { randomUUID } from 'node:crypto'
import { STALE_AFTER_MS } from '@waymark/domain/decision'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
    await world.platform.db.prisma.decision.updateMany({ where: { key }, data: { updatedAt: changedAt } })
    expect((await read()).stale).toEqual({
      reason: 'one_variant',
      variant: 'off',
      since: changedAt.toISOString(),
    })
    await world.manage('PATCH', `decisions/${key}`, { name: 'Changed' })
    expect((await read()).stale).toBeUndefined()
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
