import { randomUUID } from 'node:crypto'
import { generateCode } from '@waymark/domain/link'
import { type Constellation, createClient, eventually, type Json, withinOneDay } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Link = { id: string; code: string; shortUrl: string; [field: string]: unknown }
type Attributed = { conversions: number; revenue: { currency: string; amount: number }[] }

const DESKTOP =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'

/** Short links from their creation to conversions, for the deployment that `start` begins. */
export const describeShortLinks = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const { call, manage, meter } = createClient(() => waymark)
  const create = async (body: Json): Promise<Link> => {
    const created = await manage('POST', 'links', { destination: 'https://shop.example/', ...body })
    expect(created).toMatchObject({ status: 201 })
    return created.body as Link
  }
  /** A code that is not found by the beginning of any of the words. */
  const codeUnlike = (words: string[]): string => {
    const code = generateCode()
    const start = code.slice(0, 4).toLowerCase()
    return words.some((word) => word.startsWith(start)) ? codeUnlike(words) : code
  }
  const list = async (query: string): Promise<Link[]> =>
    (await manage('GET', `links?${query}`)).body.data as Link[]
  const follow = (code: string) =>
    waymark.request(`/s/${code}`, { redirect: 'manual', headers: { 'User-Agent': DESKTOP } })
  /** Follows a link like a browser, and returns the final URL. */
  const click = async (code: string): Promise<URL> => {
    const response = await follow(code)
    expect(response.status).toBe(302)
    return new URL(response.headers.get('Location') ?? '')
  }
  const track = (event: Json, sync = false) => call('POST', `/api/v1/t${sync ? '?sync=1' : ''}`, event)
  const anEvent = (visitorId: string, fields: Json = {}) => ({
    eventName: 'page_view',
    eventId: randomUUID(),
    visitorId,
    ...fields,
  })
  const storedEvent = (eventId: string) =>
    eventually(
      `${eventId} is stored`,
      async () => ((await manage('GET', `events?eventId=${eventId}`)).body.data as Json[])[0],
    )

  describe('managing short links', () => {
    it('creates a link with a custom code, and reads it', async () => {
      const link = await create({ destination: 'HTTPS://Shop.Example:443/a b?q=ü' })
      expect(link.code).toMatch(/^[2-9A-HJ-NP-Za-hjkmnp-z]{7}$/)
      expect(link).toMatchObject({
        shortUrl: expect.stringMatching(new RegExp(`^http://localhost:\\d+/s/${link.code}$`)),
        destination: 'https://shop.example/a%20b?q=%C3%BC',
        status: 'active',
        clicks: 0,
        tags: [],
        externalId: null,
      })
      expect((await manage('GET', `links/${link.id}`)).body).toEqual(link)
      expect((await click(link.code)).pathname).toBe('/a%20b')
    })

    it('returns the existing link for a repeated externalId, also under concurrency', async () => {
      const body = { destination: 'https://shop.example/', externalId: randomUUID() }
      const replies = await Promise.all(Array.from({ length: 10 }, () => manage('POST', 'links', body)))
      expect(replies.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201])
      expect(new Set(replies.map((reply) => reply.body.id)).size).toBe(1)
    })

    it('creates a slug once under concurrency', async () => {
      const body = { destination: 'https://shop.example/', code: generateCode() }
      const replies = await Promise.all(Array.from({ length: 10 }, () => manage('POST', 'links', body)))
      expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(422)])
      expect(replies.find(({ status }) => status === 422)?.body).toMatchObject({
        errors: [{ field: 'code', rule: 'unique' }],
      })
    })

    it.each([
      ['code', { code: 'api' }],
      ['code', { code: 'Healthz' }],
      ['code', { code: 'ab' }],
      ['code', { code: 'x'.repeat(65) }],
      ['code', { code: 'a/b/c' }],
      ['code', { code: 'fuckyou' }],
      ['destination', { destination: 'javascript:alert(1)' }],
      ['destination', { destination: '//shop.example/' }],
      ['destination', { destination: 'https://me:secret@shop.example/' }],
      ['destination', { destination: 'https://shop.example/\r\nSet-Cookie:x' }],
      ['destination', { destination: `https://shop.example/${'x'.repeat(2_048)}` }],
      ['targets.0.destination', { targets: [{ device: 'mobile', destination: 'data:text/html,x' }] }],
      ['targets.0', { targets: [{ destination: 'https://shop.example/' }] }],
      ['expiresAt', { startsAt: '2026-01-02T00:00:00Z', expiresAt: '2026-01-01T00:00:00Z' }],
      ['clickLimit', { clickLimit: 0 }],
      ['nonsense', { nonsense: true }],
    ])('refuses a bad %s', async (field, values) => {
      const reply = await manage('POST', 'links', { destination: 'https://shop.example/', ...values })
      expect(reply).toMatchObject({ status: 422, body: { errors: [{ field }] } })
    })

    it('creates 1,000 links in one request with the result of each, and refuses 1,001', async () => {
      const prefix = randomUUID().slice(0, 8)
      const links = Array.from(
        { length: 1_000 },
        (_, n): Json => ({
          destination: `https://shop.example/${n}`,
          externalId: `${prefix}-${n}`,
          tags: ['bulk', prefix],
        }),
      )
      links[3] = { destination: 'ftp://shop.example/' }
      links[4] = { nothing: true }
      links[5] = { ...links[6] }
      const first = await manage('POST', 'links/bulk', { links })
      expect(first).toMatchObject({ status: 200, body: { created: 997, existing: 1, failed: 2 } })
      const results = first.body.results as { index: number; status: string; link?: Link }[]
      expect(results.map(({ index }) => index)).toEqual(links.map((_, index) => index))
      expect(results[3]).toMatchObject({ status: 'failed', errors: [{ field: 'destination' }] })
      expect(results[4]).toMatchObject({ status: 'failed', errors: [{ field: 'destination' }] })
      expect(new Set(results.flatMap(({ link }) => link?.code ?? [])).size).toBe(997)
      const again = await manage('POST', 'links/bulk', { links })
      expect(again.body).toMatchObject({ created: 0, existing: 998, failed: 2 })
      expect((await manage('POST', 'links/bulk', { links: [...links, {}] })).status).toBe(422)
    })

    it('lists and searches, page by page', async () => {
      const mark = randomUUID().slice(0, 8)
      const campaign = `campaign-${mark}`
      const code = codeUnlike(['campaign', 'order', 'https', 'garden', 'shop', 'example', 'tulips', mark])
      const start = code.slice(0, 4).toLowerCase()
      const made = [
        await create({ campaign, code }),
        await create({ campaign, tags: [mark], destination: 'https://garden.example/tulips/red' }),
        await create({ campaign, externalId: `order ${mark}` }),
      ]
      const ids = made.map(({ id }) => id)
      const found = async (query: string) => (await list(query)).map(({ id }) => ids.indexOf(id))
      expect(await found(`campaign=${campaign}`)).toEqual([2, 1, 0])
      expect(await found(`tag=${mark}`)).toEqual([1])
      expect(await found(`campaign=${campaign}&q=${start}`)).toEqual([0])
      expect(await found(`campaign=${campaign}&q=RED%20tul`)).toEqual([1])
      expect(await found(`q=order%20${mark.slice(0, 6)}`)).toEqual([2])
      expect(await found(`campaign=${campaign}&q=${encodeURIComponent(`'tul`)}`)).toEqual([1])
      expect(await found(`campaign=${campaign}&q=garden%20${start}`)).toEqual([])
      const first = await manage('GET', `links?campaign=${campaign}&limit=2`)
      expect((first.body.data as Link[]).map(({ id }) => ids.indexOf(id))).toEqual([2, 1])
      const next = `links?campaign=${campaign}&limit=2&cursor=${first.body.nextCursor}`
      expect((await manage('GET', next)).body).toMatchObject({ data: [{ id: ids[0] }], nextCursor: null })

      expect((await manage('PATCH', `links/${ids[0]}`, { status: 'paused' })).status).toBe(200)
      expect(await found(`campaign=${campaign}&status=paused`)).toEqual([0])
      expect((await manage('DELETE', `links/${ids[1]}`)).status).toBe(204)
      expect(await found(`campaign=${campaign}`)).toEqual([2, 0])
      expect(await found(`campaign=${campaign}&status=archived`)).toEqual([1])
    })

    it('applies a change within 5 s, and keeps the other fields', async () => {
      const link = await create({ campaign: 'spring', tags: ['a'], expiresAt: '2030-01-01T00:00:00Z' })
      await click(link.code)
      const patch = { destination: 'https://shop.example/new', campaign: null, utm: { source: 'x' } }
      const changed = await manage('PATCH', `links/${link.id}`, patch)
      expect(changed).toMatchObject({
        status: 200,
        body: { ...patch, tags: ['a'], expiresAt: '2030-01-01T00:00:00.000Z' },
      })
      await eventually('it leads elsewhere', async () => {
        const url = await click(link.code)
        return url.pathname === '/new' && url.searchParams.get('utm_source') === 'x'
      })
      expect((await manage('DELETE', `links/${link.id}`)).status).toBe(204)
      await eventually('it is gone', async () => (await follow(link.code)).status === 410)
      const refused = await manage('PATCH', `links/${link.id}`, { expiresAt: 'tomorrow' })
      expect(refused).toMatchObject({ status: 422, body: { errors: [{ field: 'expiresAt' }] } })
    })

    it('does not find links of other projects', async () => {
      for (const id of [randomUUID(), 'x']) {
        for (const path of [`links/${id}`, `links/${id}/qr`, `links/${id}/stats`])
          expect((await manage('GET', path)).status).toBe(404)
        expect((await manage('PATCH', `links/${id}`, { status: 'paused' })).status).toBe(404)
        expect((await manage('DELETE', `links/${id}`)).status).toBe(404)
      }
    })

    it('draws QR codes', async () => {
      const { id } = await create({})
      const path = `/api/projects/${waymark.projectId}/links/${id}/qr`
      const svg = await waymark.request(path)
      expect(svg.headers.get('Content-Type')).toMatch(/^image\/svg\+xml/)
      const drawing = await svg.text()
      expect(drawing).toMatch(/^<svg[^>]+width="512"/)
      // The first and the last row begin with a finder pattern of 7 modules; around them the standard has a quiet zone of 4.
      const total = Number(/viewBox="0 0 (\d+) \1"/.exec(drawing)?.[1])
      expect(drawing).toContain('d="M4 4.5h7')
      expect(drawing).toContain(`M4 ${total - 5}.5h7`)
      expect(drawing).not.toMatch(
        new RegExp(`M\\d+ (${total - 4}|${total - 3}|${total - 2}|${total - 1})\\.5h`),
      )
      const png = await waymark.request(`${path}?format=png&size=64`)
      expect(png.headers.get('Content-Type')).toBe('image/png')
      const bytes = Buffer.from(await png.arrayBuffer())
      expect(bytes.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a')
      expect(bytes.readUInt32BE(16)).toBe(64)
      for (const query of ['size=63', 'size=2049', 'format=gif'])
        expect((await manage('GET', `links/${id}/qr?${query}`)).status).toBe(422)
    })
  })

  describe('the results of a click', () => {
    const statsOf = async (id: string) => (await manage('GET', `links/${id}/stats`)).body
    const attributedTo = async (id: string) =>
      (await statsOf(id)).conversions as { firstTouch: Attributed; lastTouch: Attributed }
    let order: string

    beforeAll(async () => {
      order = `order-${randomUUID()}`
      await meter({ eventName: order, amountProperty: 'total', currencyProperty: 'currency' })
    })
    const anOrder = (visitorId: string, total: number, fields: Json = {}) =>
      anEvent(visitorId, { eventName: order, properties: { total, currency: 'EUR' }, ...fields })

    it('attributes an event that carries the click, and what the same person does later, to link and campaign', async () => {
      const [first, last] = [await create({ campaign: 'spring' }), await create({ campaign: 'summer' })]
      const visitorId = `v-${randomUUID()}`
      const landing = await click(first.code)
      const clickId = landing.searchParams.get('wm_click')
      const landed = anEvent(visitorId, { properties: { url: landing.href } })
      // Sent at once: the click may not be stored yet.
      expect((await track(landed)).status).toBe(202)
      expect(await storedEvent(landed.eventId)).toMatchObject({
        shortLinkId: first.id,
        shortLinkCode: first.code,
        context: {
          utm: { campaign: 'spring' },
          clickIds: { wm_click: clickId },
          shortLink: { id: first.id, code: first.code, campaign: 'spring', clickId },
        },
      })
      const again = anEvent(visitorId, {
        properties: { wm_click: (await click(last.code)).searchParams.get('wm_click') },
      })
      await track(again)
      await storedEvent(again.eventId)
      const bought = anOrder(visitorId, 4_990)
      expect((await track(bought)).status).toBe(202)
      const conversion = await eventually('the order is a conversion', async () => {
        const { data } = (await manage('GET', `conversions?eventId=${bought.eventId}`)).body as {
          data: Json[]
        }
        return data[0]
      })
      expect(conversion.attribution).toMatchObject({
        firstLinkTouch: { linkId: first.id, code: first.code, campaign: 'spring', clickId },
        lastLinkTouch: { linkId: last.id, code: last.code, campaign: 'summer' },
      })
      const once = { conversions: 1, revenue: [{ currency: 'EUR', amount: 4_990 }] }
      const none = { conversions: 0, revenue: [] }
      expect(await attributedTo(first.id)).toEqual({ firstTouch: once, lastTouch: none })
      expect(await attributedTo(last.id)).toEqual({ firstTouch: none, lastTouch: once })
      // Repeats by the client are not counted again.
      await track(bought)
      await track(bought, true)
      expect(await attributedTo(last.id)).toEqual({ firstTouch: none, lastTouch: once })
    })

    it.each([false, true])('accepts the link by id, by code and by clickIds (sync: %s)', async (sync) => {
      const link = await create({ campaign: 'autumn' })
      const wm_click = (await click(link.code)).searchParams.get('wm_click')
      const ways = [{ shortLinkId: link.id }, { shortLinkCode: link.code }, { clickIds: { wm_click } }]
      for (const way of ways) {
        const event = anEvent(`v-${randomUUID()}`, way)
        await track(event, sync)
        expect(await storedEvent(event.eventId)).toMatchObject({
          shortLinkId: link.id,
          shortLinkCode: link.code,
          context: { utm: { campaign: 'autumn' } },
        })
      }
      const named = anEvent(`v-${randomUUID()}`, {
        shortLinkCode: link.code,
        properties: { url: 'https://shop.example/?utm_campaign=own' },
      })
      await track(named, sync)
      expect((await storedEvent(named.eventId)).context).toMatchObject({ utm: { campaign: 'own' } })
    })

    it('passes unknown references on unchanged', async () => {
      const unknown = { shortLinkId: randomUUID(), shortLinkCode: 'nobody-has-this' }
      const event = anEvent(`v-${randomUUID()}`, { ...unknown, properties: { wm_click: randomUUID() } })
      await track(event)
      const stored = await storedEvent(event.eventId)
      expect(stored).toMatchObject({ ...unknown, context: { utm: { campaign: null }, clickIds: {} } })
      expect(stored.context).not.toHaveProperty('shortLink')
    })

    it("attributes a visitor's events to the user after the identify call, within the window", async () => {
      const link = await create({})
      const [visitorId, userId] = [`v-${randomUUID()}`, `u-${randomUUID()}`]
      const landed = anEvent(visitorId, { properties: { url: (await click(link.code)).href } })
      await track(landed, true)
      expect((await call('POST', '/api/v1/identify', { visitorId, userId })).status).toBe(202)
      const backfill = (events: Json[]) => call('POST', '/internal/backfill/events', { events })
      // A click 31 days before a purchase is too old, one 29 days before it is not.
      const old = { ...anEvent(`v-${randomUUID()}`), userId: `u-${randomUUID()}` }
      const backfilled = await backfill([
        { ...old, shortLinkId: link.id, clientTimestamp: '2024-01-01T00:00:00.000Z' },
        { ...anOrder(old.visitorId, 7), userId: old.userId, clientTimestamp: '2024-02-01T00:00:00.000Z' },
        { ...anOrder(old.visitorId, 5), userId: old.userId, clientTimestamp: '2024-01-30T00:00:00.000Z' },
      ])
      expect(backfilled.status).toBe(200)
      await track({ ...anOrder(visitorId, 100), userId })
      const revenue = await eventually('the order counts', async () => {
        const { body } = await manage('GET', `links/${link.id}/stats`)
        const { lastTouch } = body.conversions as { lastTouch: Attributed }
        return lastTouch.conversions > 0 && lastTouch.revenue
      })
      expect(revenue).toEqual([{ currency: 'EUR', amount: 100 }])
      // Conversions go through the queue, including backfilled ones.
      const past = await eventually('the order of 2024 counts', async () => {
        const { body } = await manage('GET', `links/${link.id}/stats?from=2024-01-01&to=2024-03-01`)
        const { lastTouch } = body.conversions as { lastTouch: Attributed }
        return lastTouch.conversions > 0 && lastTouch
      })
      expect(past).toMatchObject({ conversions: 1, revenue: [{ currency: 'EUR', amount: 5 }] })
    })

    it('counts clicks, visitors, devices and referrers', async () => {
      await withinOneDay(async () => {
        const link = await create({})
        for (const referrer of ['https://a.example/x', 'https://a.example/y', 'https://b.example/']) {
          await waymark.request(`/s/${link.code}`, {
            redirect: 'manual',
            headers: { 'User-Agent': DESKTOP, Referer: referrer },
          })
        }
        await waymark.request(`/s/${link.code}`, {
          redirect: 'manual',
          headers: { 'User-Agent': 'Googlebot/2.1' },
        })
        const stats = await eventually('all clicks are counted', async () => {
          const found = await statsOf(link.id)
          return (found.clicks as number) + (found.botClicks as number) === 4 && found
        })
        const day = new Date().toISOString().slice(0, 10)
        expect(stats).toMatchObject({
          clicks: 3,
          botClicks: 1,
          uniqueVisitors: 1,
          days: [{ day, clicks: 3, botClicks: 1, uniqueVisitors: 1 }],
          countries: [],
          devices: [{ device: 'desktop', clicks: 3 }],
          referrers: [
            { referrer: 'a.example', clicks: 2 },
            { referrer: 'b.example', clicks: 1 },
          ],
        })
        expect((await manage('GET', `links/${link.id}`)).body).toMatchObject({
          clicks: 3,
          botClicks: 1,
          uniqueVisitors: 1,
          lastClickedAt: expect.any(String),
        })
        const campaign = `counted together ${randomUUID()}`
        const withCampaign = await create({ campaign })
        const another = await create({ campaign })
        for (const { code } of [withCampaign, another, another])
          await waymark.request(`/s/${code}`, { redirect: 'manual', headers: { 'User-Agent': DESKTOP } })
        const campaignsOn = async (query: string) => {
          const { campaigns } = (await manage('GET', `link-campaigns?${query}`)).body as { campaigns: Json[] }
          return campaigns
        }
        const counted = await eventually('the clicks of both links are counted', async () => {
          const found = (await campaignsOn('')).find((one) => one.campaign === campaign)
          return found?.clicks === 3 && found
        })
        const none = { conversions: 0, revenue: [] }
        expect(counted).toEqual({
          campaign,
          links: 2,
          clicks: 3,
          uniqueVisitors: 2,
          conversions: { firstTouch: none, lastTouch: none },
        })
        const summer = (await campaignsOn('')).find(({ campaign }) => campaign === 'summer')
        expect(summer?.conversions).toMatchObject({
          lastTouch: { revenue: [{ currency: 'EUR', amount: 4_990 }] },
        })
        expect((await campaignsOn('from=2020-01-01&to=2020-01-02')).every(({ clicks }) => clicks === 0)).toBe(
          true,
        )
        expect((await manage('GET', 'link-campaigns?from=2026-02-01&to=2026-01-01')).status).toBe(422)
        for (const query of ['from=2026-02-01&to=2026-01-01', 'from=2020-01-01&to=2026-01-01', 'from=monday'])
          expect((await manage('GET', `links/${link.id}/stats?${query}`)).status, query).toBe(422)
      })
    })
  })
}
