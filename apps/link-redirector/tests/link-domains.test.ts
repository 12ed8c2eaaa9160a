import { request } from 'node:http'
import { eventually, extent, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  addLink,
  changeLink,
  createWorld,
  type Redirector,
  startRedirector,
  type World,
} from './redirector.ts'

const ADDRESSES = {
  rootUrl: 'https://shop.example/home',
  notFoundUrl: 'https://shop.example/not-found',
  expiredUrl: 'https://shop.example/over',
}

describe.skipIf(!services)('a link domain', () => {
  let world: World
  let redirector: Redirector

  beforeAll(async () => {
    world = await createWorld()
    redirector = await startRedirector(world)
  })
  afterAll(async () => {
    await redirector?.stop()
    await world?.stop()
  })

  const addDomain = async (host: string, values: object = {}): Promise<string> => {
    const id = uuidv7()
    await world.db.prisma.linkDomain.create({
      data: { id, projectId: world.projectId, host, token: 't', verifiedAt: new Date(), ...values },
    })
    return id
  }
  const changeDomain = (id: string, data: object) =>
    world.db.prisma.linkDomain.update({ where: { id }, data: { ...data, version: { increment: 1 } } })
  const get = (host: string, path: string) =>
    redirector.get(path, { headers: { 'X-Forwarded-Host': host, Accept: 'application/json' } })
  const placeOf = async (host: string, path: string): Promise<string> => {
    const response = await get(host, path)
    await response.arrayBuffer()
    const location = response.headers.get('Location')
    return location === null ? `${response.status}` : location.replace(/[?&]wm_click=.*$/, '')
  }
  const expectPlace = (host: string, path: string, place: string) =>
    eventually(`${host}${path} leads to ${place}`, async () => (await placeOf(host, path)) === place)

  it('answers with its own links, whatever the spelling of the host', async () => {
    const code = `c${Date.now()}`
    await addLink(world, { code, destination: 'https://default.example/' })
    const [one, other] = [await addDomain('one.example'), await addDomain('xn--mnchen-3ya.example')]
    await addLink(world, { code, domainId: one, destination: 'https://one.shop.example/' })
    await addLink(world, { code, domainId: other, destination: 'https://other.shop.example/' })
    await expectPlace('one.example', `/${code}`, 'https://one.shop.example/')
    for (const host of ['one.example', 'ONE.Example', 'one.example.', 'one.example:8443', 'One.Example.:443'])
      for (const path of [`/${code}`, `/s/${code}`, `/s/${code}/`, `/${code}?x=1`])
        expect([host, path, await placeOf(host, path)]).toEqual([host, path, 'https://one.shop.example/'])
    await expectPlace('xn--mnchen-3ya.example', `/${code}`, 'https://other.shop.example/')
    for (const host of ['localhost', 'two.example', 'a.one.example', 'one.example.evil', ''])
      expect([host, await placeOf(host, `/s/${code}`)]).toEqual([host, 'https://default.example/'])
    expect(await placeOf('two.example', `/${code}`)).toBe('404')
  })

  it('is also found by the Host header or the absolute URL of a direct request', async () => {
    const domainId = await addDomain('direct.example')
    const { code } = await addLink(world, { domainId })
    await expectPlace('direct.example', `/${code}`, 'https://shop.example/')
    const port = new URL((await redirector.get('/healthz')).url).port
    const statusOf = (path: string, Host: string) =>
      new Promise((resolve, reject) => {
        const sent = request({ host: 'localhost', port, path, headers: { Host } }, (answer) =>
          resolve(answer.resume().statusCode),
        )
        sent.on('error', reject).end()
      })
    expect(await statusOf(`/${code}`, 'Direct.example:80')).toBe(302)
    expect(await statusOf(`http://Direct.example/${code}`, 'localhost')).toBe(302)
    expect(await statusOf(`http://localhost/${code}`, 'direct.example')).toBe(404)
  })

  it('redirects the root, unknown paths and ended links to its addresses', async () => {
    const domainId = await addDomain('shop.example', ADDRESSES)
    const paused = await addLink(world, { domainId, status: 'paused' })
    const own = await addLink(world, { domainId, status: 'paused', expiredUrl: 'https://own.example/' })
    const early = await addLink(world, { domainId, startsAt: new Date(Date.now() + 3_600_000) })
    await expectPlace('shop.example', '/', ADDRESSES.rootUrl)
    for (const path of [
      '/unknown',
      '/s/unknown',
      '/a/b/c',
      '/x',
      '/favicon.ico',
      '/api/projects',
      '/50%',
      '/s/50%ff',
      '/%00',
      `/${early.code}`,
    ])
      expect([path, await placeOf('shop.example', path)]).toEqual([path, ADDRESSES.notFoundUrl])
    expect(await placeOf('shop.example', `/${paused.code}`)).toBe(ADDRESSES.expiredUrl)
    expect(await placeOf('shop.example', `/${own.code}`)).toBe('https://own.example/')
    expect((await get('shop.example', '/healthz')).status).toBe(200)
  })

  it('answers apps with its association files, and 404 without them', async () => {
    const appleAppSiteAssociation = { applinks: { details: [{ appIDs: ['A1.example.app'] }] } }
    const assetLinks = [{ relation: ['delegate_permission/common.handle_all_urls'] }]
    await addDomain('apps.example', { ...ADDRESSES, appleAppSiteAssociation, assetLinks })
    await addDomain('no-apps.example', ADDRESSES)
    await expectPlace('no-apps.example', '/', ADDRESSES.rootUrl)
    for (const [path, file] of [
      ['/.well-known/apple-app-site-association', appleAppSiteAssociation],
      ['/.well-known/assetlinks.json', assetLinks],
    ] as const) {
      const response = await get('apps.example', path)
      expect(response.status).toBe(200)
      expect(response.headers.get('Content-Type')).toMatch(/^application\/json/)
      expect(await response.json()).toEqual(file)
      expect((await get('no-apps.example', path)).status).toBe(404)
      expect((await get('localhost', path)).status).toBe(404)
    }
  })

  it('shows a page or JSON without addresses, and refuses other methods', async () => {
    const domainId = await addDomain('plain.example')
    const { code: ended } = await addLink(world, { domainId, status: 'paused' })
    const { code } = await addLink(world, { domainId })
    await expectPlace('plain.example', `/${ended}`, '410')
    for (const path of ['/', '/unknown', '/a/b']) expect(await placeOf('plain.example', path)).toBe('404')
    for (const [posted, status] of [
      [code, 405],
      [ended, 410],
    ])
      expect(
        await redirector.get(`/${posted}`, {
          method: 'POST',
          headers: { 'X-Forwarded-Host': 'plain.example' },
        }),
      ).toMatchObject({ status })
  })

  it('uses the address of an ended link on the domain of the installation', async () => {
    const { code } = await addLink(world, { status: 'archived', expiredUrl: 'https://own.example/' })
    expect(await placeOf('localhost', `/s/${code}`)).toBe('https://own.example/')
  })

  it('follows changes of addresses, links and the verification', async () => {
    const id = await addDomain('changing.example', { rootUrl: 'https://before.example/' })
    const link = await addLink(world, { domainId: id, destination: 'https://before.example/' })
    await expectPlace('changing.example', '/', 'https://before.example/')
    expect(await placeOf('changing.example', `/${link.code}`)).toBe('https://before.example/')
    await changeDomain(id, { rootUrl: 'https://after.example/' })
    await changeLink(world, link.id, `destination = 'https://after.example/'`)
    await expectPlace('changing.example', '/', 'https://after.example/')
    await expectPlace('changing.example', `/${link.code}`, 'https://after.example/')
    await changeDomain(id, { verifiedAt: null })
    await expectPlace('changing.example', `/${link.code}`, '404')
  })

  const codes = extent(10, 100)
  it(`resolves ${codes} links on each of 100 domains to the right destinations`, async () => {
    await world.db.pool.query(
      `WITH domains AS (
         INSERT INTO link.domains (id, project_id, host, token, verified_at)
         SELECT gen_random_uuid(), $1, 'd' || n || '.many.example', 't', now() FROM generate_series(1, 100) AS n
         RETURNING id, host
       )
       INSERT INTO link.links (id, project_id, domain_id, code, destination, tags)
       SELECT gen_random_uuid(), $1, id, 'code-' || n, 'https://shop.example/' || host || '/' || n, '{}'
       FROM domains, generate_series(1, $2::int) AS n`,
      [world.projectId, codes],
    )
    await expectPlace('d1.many.example', '/code-1', 'https://shop.example/d1.many.example/1')
    for (let domain = 1; domain <= 100; domain += 1) {
      const host = `d${domain}.many.example`
      const places = await Promise.all(
        Array.from({ length: codes }, (_, n) => placeOf(host, `/code-${n + 1}`)),
      )
      expect(places).toEqual(Array.from({ length: codes }, (_, n) => `https://shop.example/${host}/${n + 1}`))
    }
  })
})
