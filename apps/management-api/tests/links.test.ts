import type { BulkLinkResult, LinkView } from '@waymark/contracts/http/links'
import { verifyPassword } from '@waymark/domain/account'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, type Management, startManagement } from './start-management.ts'

type Problem = { errors?: { field: string; rule: string }[] }

describe.skipIf(!services)('the links of a project', () => {
  let management: Management
  let owner: Browser
  let projectId = ''

  beforeAll(async () => {
    management = await startManagement()
    const registered = await management.register()
    owner = registered
    projectId = registered.account.projects[0]?.id ?? ''
  })
  afterAll(() => management?.stop())

  const send = async <T = LinkView>(method: string, path: string, body?: unknown) => {
    const response = await owner.request(method, `/api/projects/${projectId}/${path}`, body)
    const text = await response.text()
    return { status: response.status, text, body: JSON.parse(text) as T & Problem }
  }
  const create = (values: object) =>
    send('POST', 'links', { destination: 'https://shop.example/', ...values })
  const problemOf = ({ body }: { body: Problem }) => body.errors?.map(({ field, rule }) => `${field} ${rule}`)

  describe('passwords', () => {
    const hashOf = async (id: string) =>
      (await management.db.prisma.shortLink.findUniqueOrThrow({ where: { id } })).passwordHash ?? ''

    it('are written, changed and removed, and never shown', async () => {
      const created = await create({ password: 'open sesame' })
      expect(created.status).toBe(201)
      const { id } = created.body
      const change = (body: object) => send('PATCH', `links/${id}`, body)
      expect(await verifyPassword('open sesame', await hashOf(id))).toBe(true)
      const kept = await change({ campaign: 'autumn' })
      expect(await verifyPassword('open sesame', await hashOf(id))).toBe(true)
      const changed = await change({ password: 'open barley' })
      expect(await verifyPassword('open barley', await hashOf(id))).toBe(true)
      const audit = await send<{ data: { operation: string; fields: string[] }[] }>(
        'GET',
        `audit-log?resourceId=${id}`,
      )
      expect(audit.body.data[0]).toMatchObject({ operation: 'updateLink', fields: ['password'] })
      for (const { text } of [created, kept, changed, audit, await send('GET', 'links')]) {
        expect(text).not.toMatch(/open (sesame|barley)|argon2/)
        if (text !== audit.text) expect(text).toContain('"hasPassword":true')
      }
      expect((await change({ password: null })).body.hasPassword).toBe(false)
      expect(await hashOf(id)).toBe('')
    })

    it('have 4 to 128 characters', async () => {
      for (const length of [4, 128])
        expect((await create({ password: 'x'.repeat(length) })).body.hasPassword).toBe(true)
      expect(problemOf(await create({ password: 'x'.repeat(3) }))).toEqual(['password minLength'])
      expect(problemOf(await create({ password: 'x'.repeat(129) }))).toEqual(['password maxLength'])
    })

    it('are given for at most 20 links of a bulk request', async () => {
      const links = Array.from({ length: 21 }, () => ({
        destination: 'https://shop.example/',
        password: 'open sesame',
      }))
      const { body } = await send<{ created: number; results: BulkLinkResult[] }>('POST', 'links/bulk', {
        links: [...links, { destination: 'https://shop.example/' }],
      })
      expect(body.created).toBe(21)
      expect(body.results[20]).toMatchObject({ errors: [{ field: 'password', rule: 'maxItems' }] })
      expect(body.results.map(({ link }) => link?.hasPassword)).toEqual([
        ...links.slice(1).map(() => true),
        undefined,
        false,
      ])
    })
  })

  describe('preview cards', () => {
    const og = { title: 'Sale', description: 'Half price', image: 'https://shop.example/i.png' }

    it('are stored, replaced as a whole and removed', async () => {
      const { status, body } = await create({ og: { ...og, image: 'HTTPS://Shop.example/i.png' } })
      expect([status, body.og]).toEqual([201, og])
      const change = async (values: object) => (await send('PATCH', `links/${body.id}`, values)).body.og
      expect(await change({ campaign: 'autumn' })).toEqual(og)
      expect(await change({ og: { title: 'Other' } })).toEqual({ title: 'Other' })
      expect(await change({ og: null })).toBeNull()
    })

    it.each([
      [{ title: 'x'.repeat(200), description: 'x'.repeat(500) }, undefined],
      [{ title: 'x'.repeat(201) }, ['og.title maxLength']],
      [{ title: 'x', description: 'x'.repeat(501) }, ['og.description maxLength']],
      [{ description: 'x' }, ['og.title required']],
      [{ title: 'x', image: 'http://shop.example/i.png' }, ['og.image destination']],
      [{ title: 'x', image: 'javascript:alert(1)' }, ['og.image destination']],
      [{ title: 'x', image: 'https://user:password@shop.example/' }, ['og.image destination']],
    ])('are checked: %j', async (card, problems) => {
      expect(problemOf(await create({ og: card }))).toEqual(problems)
    })
  })

  describe('variants', () => {
    const variant = (key: string, weight = 1) => ({ key, weight, destination: `https://${key}.example/` })
    const keysOf = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => variant(`v${from + n}`))

    it('are stored, replaced as a whole and removed', async () => {
      const { status, body } = await create({
        variants: [{ ...variant('a', 3), destination: 'HTTPS://A.example' }, variant('b', 0)],
      })
      expect([status, body.variants]).toEqual([201, [variant('a', 3), variant('b', 0)]])
      const change = async (values: object) => (await send('PATCH', `links/${body.id}`, values)).body.variants
      expect(await change({ campaign: 'autumn' })).toHaveLength(2)
      expect(await change({ variants: [variant('c')] })).toEqual([variant('c')])
      expect(await change({ variants: [] })).toEqual([])
      const stored = await management.db.prisma.shortLink.findUniqueOrThrow({ where: { id: body.id } })
      expect(stored).toMatchObject({ variantKeys: ['a', 'b', 'c'], variantsSince: null })
      const stats = await send<{ variants: object[] }>('GET', `links/${body.id}/stats`)
      const none = { conversions: 0, revenue: [] }
      expect(stats.body.variants).toEqual(
        ['a', 'b', 'c'].map((key) => ({
          key,
          clicks: 0,
          conversions: { firstTouch: none, lastTouch: none },
        })),
      )
    })

    it('have a beginning when an existing link gets its first one', async () => {
      const { body } = await create({})
      const before = Date.now()
      await send('PATCH', `links/${body.id}`, { variants: [variant('a')] })
      const read = () => management.db.prisma.shortLink.findUniqueOrThrow({ where: { id: body.id } })
      const { variantsSince } = await read()
      expect(variantsSince?.getTime()).toBeGreaterThanOrEqual(before)
      expect(variantsSince?.getTime()).toBeLessThanOrEqual(Date.now())
      await send('PATCH', `links/${body.id}`, { variants: [variant('b')] })
      expect((await read()).variantsSince).toEqual(variantsSince)
    })

    it.each([
      [[variant('x'.repeat(40), 10_000)], undefined],
      [keysOf(0, 10), undefined],
      [keysOf(0, 11), ['variants maxItems']],
      [[variant('x'.repeat(41))], ['variants.0.key pattern']],
      [[variant('a b')], ['variants.0.key pattern']],
      [[variant('a', 10_001)], ['variants.0.weight maximum']],
      [[variant('a', -1)], ['variants.0.weight minimum']],
      [[variant('a', 1.5)], ['variants.0.weight type']],
      [[variant('a'), variant('b'), variant('a')], ['variants.2.key unique']],
      [[variant('a', 0), variant('b', 0)], ['variants weight']],
      [
        [variant('a'), { ...variant('b'), destination: 'javascript:alert(1)' }],
        ['variants.1.destination destination'],
      ],
      [[{ ...variant('a'), destination: 'http://localhost/s/sale' }], ['variants.0.destination destination']],
    ])('are checked: %j', async (variants, problems) => {
      expect(problemOf(await create({ variants }))).toEqual(problems)
    })

    it('have at most 31 different keys over time', async () => {
      const { body } = await create({ variants: keysOf(0, 10) })
      const change = (variants: object[]) => send('PATCH', `links/${body.id}`, { variants })
      for (const [from, to] of [
        [10, 20],
        [20, 30],
        [30, 31],
      ] as const)
        expect((await change(keysOf(from, to))).status).toBe(200)
      expect(problemOf(await change(keysOf(31, 32)))).toEqual(['variants maxKeys'])
      expect((await change(keysOf(0, 10))).status).toBe(200)
    })
  })

  it('are stored normalized when they are created and when they change', async () => {
    const written = { destination: 'HTTPS://Shop.Example:443/ä', expiredUrl: 'https://Shop.example' }
    const normal = { destination: 'https://shop.example/%C3%A4', expiredUrl: 'https://shop.example/' }
    expect((await create(written)).body).toMatchObject(normal)
    const { body } = await create({})
    expect((await send('PATCH', `links/${body.id}`, written)).body).toMatchObject(normal)
    const stored = await management.db.prisma.shortLink.findUniqueOrThrow({ where: { id: body.id } })
    expect(stored).toMatchObject(normal)
  })
})
