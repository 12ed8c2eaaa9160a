import { clickTimeOf, parseClickId } from '@waymark/domain/link'
import { eventually, services, withinOneDay } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  addLink,
  BOT,
  changeLink,
  DESKTOP,
  PHONE,
  type Redirector,
  startRedirector,
  startRedirectors,
  type World,
} from './redirector.ts'

const BROWSER = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const GERMAN = '93.184.216.34'

describe.skipIf(!services)('GET /s/{code}', () => {
  let world: World
  let here: Redirector
  let there: Redirector
  let stop: () => Promise<void>

  beforeAll(async () => {
    ;({ world, here, there, stop } = await startRedirectors((ip) => (ip === GERMAN ? 'DE' : null)))
  })
  afterAll(() => stop?.())

  const locationOf = (response: Response): URL => {
    expect(response.status).toBe(302)
    return new URL(response.headers.get('Location') ?? '')
  }
  const countsOf = (linkId: string) => world.db.prisma.linkCount.findUnique({ where: { linkId } })
  const clicksOf = (linkId: string) => world.db.prisma.linkClick.findMany({ where: { linkId } })

  it('redirects uncached, with the id of a click that is stored', async () => {
    const { id, code } = await addLink(world, { destination: 'https://shop.example/shoes?color=red#top' })
    const headers = {
      'User-Agent': PHONE,
      Referer: 'https://news.example/today',
      'X-Forwarded-For': GERMAN,
    }
    const before = Date.now()
    const response = await here.get(`/s/${code}`, { headers })
    const location = locationOf(response)
    expect(response.headers.get('Cache-Control')).toBe('no-store')
    expect(response.headers.has('Referrer-Policy')).toBe(false)
    const clickId = parseClickId(location.searchParams.get('wm_click')) ?? ''
    expect(location.href).toBe(`https://shop.example/shoes?color=red&wm_click=${clickId}#top`)
    expect(clickTimeOf(clickId)).toBeGreaterThanOrEqual(before)
    expect(clickTimeOf(clickId)).toBeLessThanOrEqual(Date.now())

    const [click] = await eventually('the click is stored', async () => {
      const clicks = await clicksOf(id)
      return clicks.length > 0 && clicks
    })
    expect(click).toMatchObject({
      id: clickId,
      projectId: world.projectId,
      ip: '93.184.216.0',
      userAgent: PHONE,
      device: 'mobile',
      os: 'iOS',
      country: 'DE',
      referrer: 'https://news.example/today',
      referrerHost: 'news.example',
      bot: false,
      prefetch: false,
    })
    expect(await countsOf(id)).toMatchObject({ clicks: 1n, botClicks: 0n, uniqueVisitors: 1n })
  })

  it('answers HEAD like GET without counting a click', async () => {
    const { id, code } = await addLink(world)
    const head = await here.get(`/s/${code}`, { method: 'HEAD' })
    expect(locationOf(head).href).toBe('https://shop.example/')
    await here.get(`/s/${code}`, { headers: { 'User-Agent': DESKTOP } })
    await eventually('the click is stored', async () => (await clicksOf(id)).length === 1)
    expect((await countsOf(id))?.clicks).toBe(1n)
  })

  it('flags bots and prefetches without counting them; a person counts once a day', async () => {
    await withinOneDay(async () => {
      const { id, code } = await addLink(world)
      const visit = (headers: Record<string, string>) => here.get(`/s/${code}`, { headers })
      await visit({ 'User-Agent': BOT })
      await visit({ 'User-Agent': DESKTOP, 'Sec-Purpose': 'prefetch;prerender' })
      await visit({ 'User-Agent': DESKTOP, Purpose: 'prefetch' })
      await visit({ 'User-Agent': DESKTOP, 'X-Moz': 'prefetch' })
      for (let n = 0; n < 3; n++) await visit({ 'User-Agent': DESKTOP, 'X-Forwarded-For': '198.51.100.1' })
      // The same person in another process.
      await there.get(`/s/${code}`, {
        headers: { 'User-Agent': DESKTOP, 'X-Forwarded-For': '198.51.100.1' },
      })
      await visit({ 'User-Agent': DESKTOP, 'X-Forwarded-For': '198.51.100.2' })
      const counts = await eventually('all are stored', async () => {
        const found = await countsOf(id)
        return found !== null && found.clicks + found.botClicks === 9n && found
      })
      expect(counts).toMatchObject({ clicks: 5n, botClicks: 4n, uniqueVisitors: 2n })
    })
  })

  it.each([
    ['paused', { status: 'paused' }, 'paused'],
    ['archived', { status: 'archived' }, 'archived'],
    ['expired', { expiresAt: new Date(Date.now() - 1_000) }, 'expired'],
  ])('answers 410 when %s: JSON, or a page to a browser', async (_what, values, reason) => {
    const { code } = await addLink(world, values)
    const json = await here.get(`/s/${code}`, { headers: { Accept: '*/*' } })
    expect(json.status).toBe(410)
    expect(json.headers.get('Cache-Control')).toBe('no-store')
    expect(await json.json()).toEqual({ error: expect.any(String), reason })
    const page = await here.get(`/s/${code}`, { headers: BROWSER })
    expect(page.status).toBe(410)
    expect(page.headers.get('Content-Type')).toMatch(/^text\/html/)
    expect(await page.text()).toContain('<h1>')
  })

  it('answers 404 for an unknown or malformed code, and before the start', async () => {
    const { code } = await addLink(world, { startsAt: new Date(Date.now() + 60_000) })
    for (const path of ['unknown', code, 'a', 'x'.repeat(65), '%00abc', 'a.b.c'])
      expect((await here.get(`/s/${path}`)).status, path).toBe(404)
  })

  it('checks the schedule of a cached link at every visit', async () => {
    const startsAt = Date.now()
    const expiresAt = startsAt + 1_000
    const { code } = await addLink(world, { startsAt: new Date(startsAt), expiresAt: new Date(expiresAt) })
    let now = startsAt - 1
    const moved = await startRedirector(world, undefined, () => now)
    onTestFinished(moved.stop)
    const visitAt = async (time: number) => {
      now = time
      return (await moved.get(`/s/${code}`)).status
    }
    expect(await visitAt(startsAt - 1)).toBe(404)
    expect(await visitAt(startsAt)).toBe(302)
    expect(await visitAt(expiresAt - 1)).toBe(302)
    expect(await visitAt(expiresAt)).toBe(410)
  })

  it("adds UTM parameters and forwards the query, without overriding the destination's", async () => {
    const { code } = await addLink(world, {
      destination: 'https://shop.example/?utm_source=own&next=safe',
      utm: { source: 'link', medium: 'e mail' },
      forwardQuery: true,
    })
    const evil = `/s/${code}?next=evil&a=1%0d%0aSet-Cookie:x&utm_source=visitor&wm_click=forged&b=%E2%82%AC`
    const { searchParams } = locationOf(await here.get(evil))
    expect(searchParams.getAll('utm_source')).toEqual(['own'])
    expect(searchParams.get('utm_medium')).toBe('e mail')
    expect(searchParams.getAll('next')).toEqual(['safe'])
    expect(searchParams.get('a')).toBe('1\r\nSet-Cookie:x')
    expect(searchParams.get('b')).toBe('€')
    expect(searchParams.getAll('wm_click')).toEqual([
      expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) as unknown,
    ])
  })

  it('selects a destination by device and country, with the first matching target', async () => {
    const { code } = await addLink(world, {
      destination: 'https://shop.example/else',
      targets: [
        { device: 'mobile', country: 'DE', destination: 'https://shop.example/de-mobile' },
        { os: 'ios', destination: 'https://shop.example/ios' },
        { country: 'DE', destination: 'https://shop.example/de' },
      ],
    })
    const pathFor = async (agent: string, ip: string) =>
      locationOf(await here.get(`/s/${code}`, { headers: { 'User-Agent': agent, 'X-Forwarded-For': ip } }))
        .pathname
    expect(await pathFor(PHONE, GERMAN)).toBe('/de-mobile')
    expect(await pathFor(PHONE, '198.51.100.1')).toBe('/ios')
    expect(await pathFor(DESKTOP, GERMAN)).toBe('/de')
    expect(await pathFor(DESKTOP, '198.51.100.1')).toBe('/else')
  })

  it('follows a change in every process', async () => {
    const { id, code } = await addLink(world)
    for (const one of [here, there]) expect((await one.get(`/s/${code}`)).status).toBe(302)
    await changeLink(world, id, `status = 'paused'`)
    await Promise.all(
      [here, there].map((one) =>
        eventually('it is paused', async () => (await one.get(`/s/${code}`)).status === 410),
      ),
    )
    await changeLink(world, id, `status = 'active', destination = 'https://shop.example/new'`)
    await Promise.all(
      [here, there].map((one) =>
        eventually('it leads elsewhere', async () => {
          const response = await one.get(`/s/${code}`)
          return response.status === 302 && locationOf(response).pathname === '/new'
        }),
      ),
    )
  })

  it('finds a link that was created just after a request for it', async () => {
    const code = `late-${Date.now()}`
    expect((await here.get(`/s/${code}`)).status).toBe(404)
    await addLink(world, { code })
    await eventually('it is found', async () => (await here.get(`/s/${code}`)).status === 302)
  })

  it('appends no click id if the project disables it, and stores the click anyway', async () => {
    const { id, code } = await addLink(world)
    const set = (settings: object) =>
      world.db.prisma.$transaction([
        world.db.prisma.project.update({ where: { id: world.projectId }, data: { settings } }),
        world.db.prisma.configChange.create({ data: { projectId: world.projectId } }),
      ])
    await set({ links: { appendClickId: false } })
    await eventually(
      'the destination stays as it is',
      async () => locationOf(await here.get(`/s/${code}`)).search === '',
    )
    await eventually('the clicks are stored', async () => (await clicksOf(id)).length > 0)
    await set({})
    await eventually(
      'it is appended again',
      async () => locationOf(await here.get(`/s/${code}`)).search !== '',
    )
  })

  it('reads a popular uncached link once under concurrency', async () => {
    const { code } = await addLink(world)
    const fresh = await startRedirector(world)
    try {
      let reads = 0
      const { pool } = fresh.platform.db
      const query = pool.query.bind(pool)
      Object.assign(pool, {
        query: (...args: Parameters<typeof query>) => {
          const [first] = args as unknown as [{ name?: string }]
          if (first.name === 'read-link') reads++
          return query(...args)
        },
      })
      const answers = await Promise.all(Array.from({ length: 200 }, () => fresh.get(`/s/${code}`)))
      expect(answers.every(({ status }) => status === 302)).toBe(true)
      // Its first poll for changes may happen between them; then it reads again.
      expect(reads).toBeLessThanOrEqual(3)
    } finally {
      await fresh.stop()
    }
  })

  describe('a click limit', () => {
    const visit = (one: Redirector, code: string, agent = DESKTOP) =>
      one.get(`/s/${code}`, { headers: { 'User-Agent': agent } })

    it('is exact in one process, counts people only, and applies to bots once reached', async () => {
      const { code } = await addLink(world, { clickLimit: 10 })
      for (let n = 0; n < 5; n++) expect((await visit(here, code, BOT)).status).toBe(302)
      const answers = await Promise.all(Array.from({ length: 40 }, () => visit(here, code)))
      expect(answers.filter(({ status }) => status === 302)).toHaveLength(10)
      expect((await visit(here, code, BOT)).status).toBe(410)
      expect(await (await visit(here, code)).json()).toMatchObject({ reason: 'click_limit_reached' })
    })

    it('applies in other processes, and in new ones', async () => {
      const { id, code } = await addLink(world, { clickLimit: 20 })
      await Promise.all(Array.from({ length: 20 }, () => visit(here, code)))
      await eventually(
        'the other process refuses',
        async () => (await visit(there, code, BOT)).status === 410,
      )
      await eventually('the clicks are stored', async () => (await countsOf(id))?.clicks === 20n)
      await world.db.prisma.linkCount.findUniqueOrThrow({ where: { linkId: id } })
      const later = await startRedirector({ ...world, prefix: world.prefix })
      try {
        await eventually('it refuses too', async () => (await visit(later, code)).status === 410)
      } finally {
        await later.stop()
      }
    })

    it('can be raised', async () => {
      const { id, code } = await addLink(world, { clickLimit: 1 })
      expect((await visit(here, code)).status).toBe(302)
      expect((await visit(here, code)).status).toBe(410)
      await changeLink(world, id, 'click_limit = 2')
      await eventually('there is one more', async () => (await visit(here, code, BOT)).status === 302)
      expect((await visit(here, code)).status).toBe(302)
      expect((await visit(here, code)).status).toBe(410)
    })
  })
})
