import { randomUUID } from 'node:crypto'
import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, startWorld, type World } from './world.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe.skipIf(!services)('the resources of a project', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const manage: World['manage'] = (...args) => world.manage(...args)
  const newKey = async (values: Json = {}) => {
    const { body, etag } = await manage('POST', 'api-keys', {
      name: 'k',
      kind: 'sec',
      scopes: ['manage:read'],
      ...values,
    })
    return { id: `${body.id}`, key: `${body.key}`, etag }
  }
  const newDefinition = async (schema: Json = {}) => {
    const { body, etag } = await manage('POST', 'event-definitions', { name: randomUUID(), schema })
    return { id: `${body.id}`, name: `${body.name}`, etag }
  }
  const opens = async (key: string) =>
    (await manage('GET', 'events', undefined, { 'X-API-Key': key })).status === 200

  describe('an API key', () => {
    it('is rotated to one with the same properties, and works until the overlap is over', async () => {
      const old = await newKey({
        name: 'Shop',
        allowedOrigins: ['https://shop.example'],
        validationMode: 'enforce',
      })
      const asked = Date.now()
      const { status, body } = await manage('POST', `api-keys/${old.id}/rotate`, {})
      expect(status).toBe(201)
      expect(body).toMatchObject({
        name: 'Shop',
        allowedOrigins: ['https://shop.example'],
        validationMode: 'enforce',
        expiresAt: null,
        replacedBy: null,
      })
      expect(body.id).not.toBe(old.id)
      const { body: rotated } = await manage('GET', `api-keys/${old.id}`)
      expect(rotated.replacedBy).toBe(body.id)
      const expiresAt = Date.parse(`${rotated.expiresAt}`)
      expect(expiresAt).toBeGreaterThanOrEqual(asked + DAY_MS)
      expect(expiresAt).toBeLessThanOrEqual(Date.now() + DAY_MS)
      expect([await opens(old.key), await opens(`${body.key}`)]).toEqual([true, true])
      expect((await manage('POST', `api-keys/${old.id}/rotate`, {})).status).toBe(422)
    })

    it('ends at once without an overlap, and never later than before', async () => {
      const old = await newKey()
      const { body } = await manage('POST', `api-keys/${old.id}/rotate`, { overlapSeconds: 0 })
      await eventually('the old one is refused', async () => !(await opens(old.key)))
      expect(await opens(`${body.key}`)).toBe(true)
      const expiresAt = new Date(Date.now() + 60_000).toISOString()
      const brief = await newKey({ expiresAt })
      const successor = await manage('POST', `api-keys/${brief.id}/rotate`, { overlapSeconds: 30 * 86_400 })
      expect([
        successor.body.expiresAt,
        (await manage('GET', `api-keys/${brief.id}`)).body.expiresAt,
      ]).toEqual([expiresAt, expiresAt])
      expect(
        (await manage('POST', `api-keys/${brief.id}/rotate`, { overlapSeconds: 30 * 86_400 + 1 })).status,
      ).toBe(422)
    })

    it('is rotated once under concurrency', async () => {
      const { id } = await newKey()
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => manage('POST', `api-keys/${id}/rotate`, {})),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(422)])
    })

    it('cannot create or rotate keys with scopes that it lacks', async () => {
      const { key } = await newKey({ scopes: ['manage:admin'] })
      const wide = await newKey({ scopes: ['events:write'] })
      const as = { 'X-API-Key': key }
      expect((await manage('POST', `api-keys/${wide.id}/rotate`, {}, as)).body).toMatchObject({
        requiredScope: 'events:write',
      })
      expect((await manage('PATCH', `api-keys/${wide.id}`, { scopes: ['decide'] }, as)).status).toBe(403)
      expect((await manage('PATCH', `api-keys/${wide.id}`, { scopes: ['manage:read'] }, as)).status).toBe(200)
    })

    it('is changed in the given fields, with the checks of a creation', async () => {
      const { id, key } = await newKey()
      const changed = await manage('PATCH', `api-keys/${id}`, {
        name: 'New',
        validationMode: 'off',
        allowedOrigins: ['https://a.example'],
      })
      expect(changed.body).toMatchObject({
        id,
        name: 'New',
        validationMode: 'off',
        allowedOrigins: ['https://a.example'],
        scopes: ['manage:read'],
      })
      expect(changed.body).not.toHaveProperty('key')
      expect((await manage('PATCH', `api-keys/${id}`, { expiresAt: '2020-01-01T00:00:00Z' })).status).toBe(
        422,
      )
      expect((await manage('PATCH', `api-keys/${id}`, { allowedOrigins: ['shop'] })).status).toBe(422)
      for (const host of [
        '*.co.uk',
        '*.github.io',
        '*.vercel.app:8443',
        '*.co.uk.',
        '*.kawasaki.jp',
        '*.foo.ck',
      ])
        expect(
          await manage('PATCH', `api-keys/${id}`, { allowedOrigins: [`https://${host}`] }),
        ).toMatchObject({
          status: 422,
          body: {
            error: expect.stringMatching(/^allowedOrigins .*public suffix/),
            errors: [{ rule: 'publicSuffix' }],
          },
        })
      const own = ['https://*.shop.co.uk', 'https://*.shop.github.io', 'https://*.www.ck']
      expect((await manage('PATCH', `api-keys/${id}`, { allowedOrigins: own })).status).toBe(200)
      await manage('PATCH', `api-keys/${id}`, { scopes: ['links:read'] })
      await eventually('the scope is gone', async () => !(await opens(key)))
      const pub = await newKey({ kind: 'pub', scopes: ['decide'] })
      expect((await manage('PATCH', `api-keys/${pub.id}`, { scopes: ['manage:read'] })).status).toBe(422)
      await manage('DELETE', `api-keys/${id}`)
      expect((await manage('PATCH', `api-keys/${id}`, { name: 'Again' })).status).toBe(422)
      expect((await manage('POST', `api-keys/${id}/rotate`, {})).status).toBe(422)
    })

    it('can have a limit if it is a server key, which an admin sets and a rotation keeps', async () => {
      const scopes = ['decide', 'manage:write']
      const { id, key } = await newKey({ scopes, requestsPerMinute: 6_000 })
      expect((await manage('GET', `api-keys/${id}`)).body).toMatchObject({ requestsPerMinute: 6_000 })
      for (const requestsPerMinute of [1, 10_000_000, null]) {
        const { status, body } = await manage('PATCH', `api-keys/${id}`, { requestsPerMinute })
        expect({ status, body }).toMatchObject({ status: 200, body: { requestsPerMinute } })
      }
      for (const requestsPerMinute of [0, 10_000_001, 1.5, '100'])
        expect((await manage('PATCH', `api-keys/${id}`, { requestsPerMinute })).status).toBe(422)
      // A key with the editor scope cannot raise its own limit.
      const asItself = { 'X-API-Key': key }
      expect(await manage('PATCH', `api-keys/${id}`, { requestsPerMinute: 9 }, asItself)).toMatchObject({
        status: 403,
        body: { requiredScope: 'manage:admin' },
      })
      await manage('PATCH', `api-keys/${id}`, { requestsPerMinute: 7_000 })
      const { body } = await manage('POST', `api-keys/${id}/rotate`, {})
      expect(body).toMatchObject({ requestsPerMinute: 7_000 })
    })

    it('cannot have a limit if it is a browser key', async () => {
      const pub = { name: 'Page', kind: 'pub', scopes: ['decide'] }
      const refusal = { status: 422, body: { errors: [{ field: 'requestsPerMinute', rule: 'sec_only' }] } }
      expect(await manage('POST', 'api-keys', { ...pub, requestsPerMinute: 60 })).toMatchObject(refusal)
      const created = await manage('POST', 'api-keys', { ...pub, requestsPerMinute: null })
      expect(created).toMatchObject({ status: 201, body: { requestsPerMinute: null } })
      const path = `api-keys/${created.body.id}`
      expect(await manage('PATCH', path, { requestsPerMinute: 60 })).toMatchObject(refusal)
    })

    it('of another project is not found', async () => {
      const foreign = await startForeignKey()
      for (const [method, path, body] of [
        ['GET', '', undefined],
        ['PATCH', '', {}],
        ['POST', '/rotate', {}],
        ['DELETE', '', undefined],
      ] as const)
        expect(await manage(method, `api-keys/${foreign}${path}`, body)).toMatchObject({
          status: 404,
          body: { error: 'Not found' },
        })
    })

    const startForeignKey = async (): Promise<string> => {
      const id = randomUUID()
      await world.platform.db.prisma.project.create({
        data: {
          id: randomUUID(),
          name: 'foreign',
          tenant: { create: { id: randomUUID(), name: 'foreign' } },
          apiKeys: {
            create: {
              id,
              keyId: id.slice(0, 10),
              name: 'k',
              kind: 'sec',
              scopes: [],
              secretHash: new Uint8Array(32),
            },
          },
        },
      })
      return id
    }
  })

  describe('an entity tag', () => {
    it('is equal in every response, saves known bodies, and changes with the resource', async () => {
      const { id, etag } = await newDefinition({ properties: { b: {}, aa: {} } })
      const read = await manage('GET', `event-definitions/${id}`)
      expect(read.etag).toBe(etag)
      const known = await manage('GET', `event-definitions/${id}`, undefined, {
        'If-None-Match': `"x", ${etag}`,
      })
      expect([known.status, known.body, known.etag]).toEqual([304, {}, etag])
      const changed = await manage(
        'PATCH',
        `event-definitions/${id}`,
        { description: 'New' },
        { 'If-Match': etag },
      )
      expect([changed.status, changed.etag === etag]).toEqual([200, false])
      expect(
        (await manage('GET', `event-definitions/${id}`, undefined, { 'If-None-Match': etag })).etag,
      ).toBe(changed.etag)
      for (const method of ['PATCH', 'DELETE'])
        expect(
          await manage(method, `event-definitions/${id}`, method === 'PATCH' ? {} : undefined, {
            'If-Match': etag,
          }),
        ).toMatchObject({ status: 412, body: { error: expect.any(String) } })
      expect(
        (await manage('DELETE', `event-definitions/${id}`, undefined, { 'If-Match': changed.etag })).status,
      ).toBe(204)
    })

    it('of settings is the same after a change and a read', async () => {
      const changed = await manage('PATCH', 'settings', { ipStorage: 'keep', deniedTraits: ['b', 'a'] })
      expect((await manage('GET', 'settings')).etag).toBe(changed.etag)
      expect((await manage('PATCH', 'settings', { ipStorage: 'drop' }, { 'If-Match': '"x"' })).status).toBe(
        412,
      )
    })

    it('of a key does not change when the key is used', async () => {
      const { id, etag } = await newKey()
      await world.platform.db.prisma.apiKey.update({ where: { id }, data: { lastUsedAt: new Date() } })
      expect((await manage('GET', `api-keys/${id}`)).body.lastUsedAt).toEqual(expect.any(String))
      expect((await manage('PATCH', `api-keys/${id}`, { name: 'x' }, { 'If-Match': etag })).status).toBe(200)
    })

    it.each([
      ['event-definitions', () => newDefinition(), (n: number) => ({ description: `${n}` })],
      ['api-keys', () => newKey(), (n: number) => ({ name: `${n}` })],
      [
        'settings',
        async () => ({ id: '', ...(await manage('GET', 'settings')) }),
        (n: number) => ({ ingestRequestsPerMinute: n + 1 }),
      ],
    ])(
      'lets one of many concurrent changes of the same version of %s succeed',
      async (list, make, change) => {
        const { id, etag } = await make()
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, n) =>
            manage('PATCH', id ? `${list}/${id}` : list, change(n), { 'If-Match': etag }),
          ),
        )
        expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)])
      },
    )
  })

  it('keeps every version of a definition, and lists archived ones separately', async () => {
    const { id, name } = await newDefinition({ title: 'one' })
    await manage('PATCH', `event-definitions/${id}`, { description: 'no new version' })
    await manage('PATCH', `event-definitions/${id}`, { schema: { title: 'two' } })
    await manage('DELETE', `event-definitions/${id}`)
    const listed = async (archived: string) =>
      (await world.readAll(`event-definitions?archived=${archived}`, 500)).some((found) => found.id === id)
    expect([await listed('true'), await listed('false')]).toEqual([true, false])
    expect((await manage('GET', `event-definitions/${id}`)).body.archivedAt).toEqual(expect.any(String))
    expect(
      (await manage('POST', 'event-definitions', { name, schema: { title: 'three' } })).body,
    ).toMatchObject({ id, version: 3, archivedAt: null })
    const versions = await world.readAll(`event-definitions/${id}/versions`, 2)
    expect(versions.map(({ version, schema }) => [version, schema])).toEqual([
      [3, { title: 'three' }],
      [2, { title: 'two' }],
      [1, { title: 'one' }],
    ])
  })
})
