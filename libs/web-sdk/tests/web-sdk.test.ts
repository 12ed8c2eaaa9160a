import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Constellation, eventually, startStandalone, withinOneDay } from '@waymark/testing'
import { CHROMIUM, launchChromium } from '@waymark/testing/chromium'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'

if (!CHROMIUM && process.env.CI) throw new Error('Chromium is missing, and in CI no test may be left out')

type StoredEvent = {
  eventId: string
  eventName: string
  visitorId: string | null
  sessionId: string | null
  userId: string | null
  profileId: string | null
  timestamp: string
  receivedAt: string
  properties: Record<string, unknown>
  context: { path: string | null; referrerHost: string | null; utm: { source: string | null } }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

describe.skipIf(!CHROMIUM)('the script in a page', { timeout: 300_000 }, () => {
  let waymark: Constellation
  let url: string
  let key: string
  let site: Server
  let origin: string
  let browser: Browser
  let context: BrowserContext
  /** What the pages of a test have beside the key. */
  let attributes = ''
  /** Where they load the script from. */
  let source = ''

  const write = async (method: string, place: string, body: object): Promise<unknown> => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}${place}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBeLessThan(300)
    return response.json()
  }

  beforeAll(async () => {
    execFileSync(process.execPath, [path.join(import.meta.dirname, '../build.mjs')])
    waymark = await startStandalone()
    url = (await waymark.request('/healthz')).url.replace('/healthz', '')
    const created = await write('POST', '/api-keys', {
      name: 'site',
      kind: 'pub',
      scopes: ['events:write', 'decide'],
    })
    key = (created as { key: string }).key
    // A strict policy: nothing inline, nothing from elsewhere, no text that becomes code.
    const policyOf = (from: string) =>
      `default-src 'none'; script-src ${from}; connect-src ${from}; form-action 'self'; require-trusted-types-for 'script'`
    site = createServer(async (req, res) => {
      if (req.url?.startsWith('/stats/')) return forward(req, res)
      if (req.url?.endsWith('.pdf')) return res.writeHead(204).end()
      res.setHeader('Content-Security-Policy', policyOf(source.startsWith('/') ? "'self'" : url))
      res.setHeader('Content-Type', 'text/html')
      res.end(`<title>Shop</title>
        <script async src="${source}" data-key="${key}" ${attributes}></script>
        <a id="out" href="https://elsewhere.example/page?secret=1" target="_blank">out</a>
        <a id="file" href="/price-list.pdf" target="_blank">file</a>
        <button id="plan" data-wm-event="plan_chosen" data-wm-plan-name="pro">plan</button>
        <form id="sign-up" action="/thanks?secret=1"><input name="id" value="secret"><input type="submit"></form>
        ${req.url}`)
    }).listen(0)
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    site?.close()
    await waymark?.stop()
  })
  beforeEach(async () => {
    attributes = ''
    source = `${url}/w.js`
    context = await browser.newContext()
  })
  afterEach(async () => {
    await context.close()
  })

  /** The proxy of the site, as nginx would be. */
  const forward = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const answer = await fetch(url + (req.url ?? '').replace('/stats', ''), {
      method: req.method ?? 'GET',
      headers: {
        'Content-Type': req.headers['content-type'] ?? '',
        'User-Agent': req.headers['user-agent'] ?? '',
        'X-Forwarded-For': '203.0.113.7',
      },
      ...(req.method === 'POST' && { body: await buffer(req) }),
    })
    res.setHeader('Content-Type', answer.headers.get('content-type') ?? '')
    res.writeHead(answer.status).end(await answer.text())
  }

  /** Opens a page and waits until the script has started. */
  const open = async (place: string, options: { isStarted?: boolean } = {}): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(origin + place)
    if (options.isStarted ?? true) await started(page)
    return page
  }
  /** Not by `waitForFunction`, which the policy of the pages forbids. */
  const until = (page: Page, condition: string) =>
    expect.poll(() => page.evaluate<boolean>(condition)).toBe(true)
  const started = (page: Page) => until(page, `typeof window.waymark?.track === 'function'`)
  const track = (page: Page, name: string, properties: object = {}) =>
    page.evaluate(`waymark.track(${JSON.stringify(name)}, ${JSON.stringify(properties)})`)
  const visitorOf = (page: Page): Promise<string> => page.evaluate<string>(`localStorage.getItem('wm.v')`)

  const eventsWhere = async (query: string): Promise<StoredEvent[]> => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/events?limit=100&${query}`)
    const { data } = (await response.json()) as { data: StoredEvent[] }
    // Ids of the script are in the order of the events, also of those of one millisecond.
    return data.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1))
  }
  /** The events of a visitor, once they are as many. */
  const stored = async (visitorId: string, count: number): Promise<StoredEvent[]> => {
    let events: StoredEvent[] = []
    await eventually(`${count} events are stored`, async () => {
      events = await eventsWhere(`visitorId=${encodeURIComponent(visitorId)}`)
      return events.length >= count
    })
    expect(events).toHaveLength(count)
    return events
  }
  const nothingWaits = (page: Page) =>
    until(page, `Object.keys(localStorage).every((name) => !name.startsWith('wm.e.'))`)

  it('works under a strict policy, and tracks what its attributes ask for, without any value of an input', async () => {
    attributes = 'data-track="outbound downloads forms events"'
    const violations: string[] = []
    const page = await context.newPage()
    page.on('console', (message) => {
      if (/Content Security Policy|TrustedScript/.test(message.text())) violations.push(message.text())
    })
    await page.goto(`${origin}/sale?utm_source=news`)
    await started(page)
    await page.evaluate(`history.pushState(null, '', '/cart'); document.title = 'Cart'`)
    for (const id of ['out', 'file', 'plan']) await page.click(`#${id}`)
    await page.click('#sign-up [type=submit]')
    await page.waitForURL('**/thanks**')
    await started(page)
    const events = await stored(await visitorOf(page), 7)
    const shown = events.map(({ eventName, context: { path }, properties }) => {
      const { url: _url, title: _title, utm_source, entry_page, referrer: _referrer, ...own } = properties
      expect({ utm_source, entry_page }).toEqual({ utm_source: 'news', entry_page: '/sale' })
      return [eventName, path, own]
    })
    expect(shown).toEqual([
      ['page_view', '/sale', {}],
      ['page_view', '/cart', {}],
      ['outbound_click', '/cart', { href: 'https://elsewhere.example/page' }],
      ['file_download', '/cart', { href: `${origin}/price-list.pdf`, extension: 'pdf' }],
      ['plan_chosen', '/cart', { plan_name: 'pro' }],
      ['form_submit', '/cart', { form: 'sign-up', action: `${origin}/thanks` }],
      ['page_view', '/thanks', {}],
    ])
    expect(new Set(events.map(({ sessionId }) => sessionId)).size).toBe(1)
    expect(events.map(({ context: { utm } }) => utm.source)).toEqual(Array(7).fill('news'))
    expect(violations).toEqual([])
  })

  it('sends to the host of the site, which forwards it', async () => {
    source = '/stats/w.js'
    attributes = 'data-host="/stats"'
    const page = await context.newPage()
    const hosts = new Set<string>()
    page.on('request', (request) => hosts.add(new URL(request.url()).origin))
    await page.goto(`${origin}/`)
    await started(page)
    await stored(await visitorOf(page), 1)
    expect([...hosts]).toEqual([origin])
  })

  it.each([
    {
      browser: 'Firefox',
      os: 'Windows',
      device: 'desktop',
      userAgent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0',
    },
    {
      browser: 'Safari',
      os: 'Mac OS',
      device: 'desktop',
      userAgent:
        'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    },
    {
      browser: 'Mobile Safari',
      os: 'iOS',
      device: 'mobile',
      userAgent:
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
    },
  ])('counts a visit with $browser through the proxy of the site', async ({ userAgent, ...technology }) => {
    await context.close()
    context = await browser.newContext({ userAgent })
    source = '/stats/w.js'
    attributes = 'data-host="/stats"'
    const page = await open('/')
    const visitor = await visitorOf(page)
    // Chromium sends what remains when a page ends with its own user agent.
    await nothingWaits(page)
    await page.reload()
    await started(page)
    await nothingWaits(page)
    const [event] = await stored(visitor, 2)
    expect(event?.context).toMatchObject({ bot: false, ...technology })
    const web = await write('POST', '/analytics/web', {
      from: new Date(Date.now() - HOUR_MS).toISOString(),
      to: new Date(Date.now() + HOUR_MS).toISOString(),
      filters: [{ property: 'visit.browser', op: 'eq', value: technology.browser }],
    })
    expect(web).toMatchObject({ totals: { visitors: 1, visits: 1, views: 2 } })
  })

  it('loads from the address that never changes, with its integrity', async () => {
    const found = (await (await fetch(`${url}/w.json`)).json()) as { path: string; integrity: string }
    const response = await fetch(url + found.path)
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const short = await fetch(`${url}/w.js`)
    expect(short.headers.get('cache-control')).toBe('public, max-age=600')
    expect(await short.text()).toBe(await response.text())
    const etag = short.headers.get('etag') ?? ''
    expect((await fetch(`${url}/w.js`, { headers: { 'If-None-Match': etag } })).status).toBe(304)
    expect((await fetch(`${url}/w/0123456789abcdef.js`)).status).toBe(404)
    const page = await open('/')
    const load = (integrity: string) =>
      page.evaluate<string>(`new Promise((resolve) => {
        const script = document.createElement('script')
        const policy = trustedTypes.createPolicy('test-' + Math.random(), { createScriptURL: (text) => text })
        Object.assign(script, { crossOrigin: 'anonymous', integrity: ${JSON.stringify(integrity)} })
        script.src = policy.createScriptURL(${JSON.stringify(url + found.path)})
        script.onload = () => resolve('loaded')
        script.onerror = () => resolve('refused')
        document.head.append(script)
      })`)
    expect(await load(found.integrity)).toBe('loaded')
    expect(await load(`sha384-${'A'.repeat(64)}`)).toBe('refused')
  })

  it('makes the calls that a page made before it was loaded', async () => {
    const page = await context.newPage()
    await page.addInitScript(`
      window.waymark = window.waymark || []
      waymark.push(['identify', 'early-user', { plan: 'pro' }])
      waymark.push(['track', 'early'])`)
    await page.goto(`${origin}/`)
    await started(page)
    const events = await stored(await visitorOf(page), 2)
    expect(events.map(({ eventName, userId }) => [eventName, userId])).toEqual([
      ['page_view', null],
      ['early', 'early-user'],
    ])
    expect(new Set(events.map(({ profileId }) => profileId)).size).toBe(1)
  })

  it('has one visitor and one session in two tabs', async () => {
    const tabs = [await open('/one'), await open('/two')] as const
    for (const tab of tabs) await track(tab, 'step')
    const events = await stored(await visitorOf(tabs[1]), 4)
    expect(new Set(events.map(({ sessionId }) => sessionId)).size).toBe(1)
    expect(await visitorOf(tabs[0])).toBe(await visitorOf(tabs[1]))
  })

  it('keeps events while the browser is offline, and sends them when it is back', async () => {
    const page = await open('/')
    const visitor = await visitorOf(page)
    await stored(visitor, 1)
    await nothingWaits(page)
    await context.setOffline(true)
    for (const n of [1, 2, 3]) await track(page, 'offline', { n })
    await page.evaluate(`history.pushState(null, '', '/offline')`)
    await context.setOffline(false)
    const events = await stored(visitor, 5)
    expect(events.map(({ properties: { n }, context: { path } }) => n ?? path)).toEqual([
      '/',
      1,
      2,
      3,
      '/offline',
    ])
    await nothingWaits(page)
  })

  it('keeps events over a reload while Waymark cannot be reached, and stores none twice', async () => {
    const page = await open('/')
    const visitor = await visitorOf(page)
    await stored(visitor, 1)
    await nothingWaits(page)
    await page.route(`${url}/api/**`, (route) => route.abort())
    await track(page, 'before')
    await page.reload()
    await started(page)
    await track(page, 'after')
    await page.unroute(`${url}/api/**`)
    await page.evaluate(`window.dispatchEvent(new Event('online'))`)
    const events = await stored(visitor, 4)
    expect(events.map(({ eventName }) => eventName)).toEqual(['page_view', 'before', 'page_view', 'after'])
    await nothingWaits(page)
    expect(await stored(visitor, 4)).toHaveLength(4)
  })

  it('stores an event once although the answer about it is lost', async () => {
    const page = await context.newPage()
    let lost = 0
    await page.route(`${url}/api/v1/t**`, async (route) => {
      if (lost++ > 0) return route.continue()
      await route.fetch()
      return route.abort()
    })
    await page.goto(`${origin}/`)
    await started(page)
    await nothingWaits(page)
    expect(lost).toBe(2)
    await stored(await visitorOf(page), 1)
  })

  it('sends what happens just before a page is left, once', async () => {
    attributes = 'data-track="leave"'
    const page = await open('/first')
    const visitor = await visitorOf(page)
    await stored(visitor, 1)
    await page.evaluate(`waymark.track('last'); location.href = '/second'`)
    await page.waitForURL('**/second')
    await started(page)
    const events = await stored(visitor, 4)
    expect(events.map(({ eventName, context: { path } }) => [eventName, path])).toEqual([
      ['page_view', '/first'],
      ['last', '/first'],
      ['page_leave', '/first'],
      ['page_view', '/second'],
    ])
    expect(events[2]?.properties.seconds).toEqual(expect.any(Number))
  })

  it('sends what happens just before a tab is closed', async () => {
    const page = await open('/')
    const visitor = await visitorOf(page)
    await track(page, 'last')
    await page.close({ runBeforeUnload: true })
    const events = await stored(visitor, 2)
    expect(events.map(({ eventName }) => eventName)).toEqual(['page_view', 'last'])
  })

  it('sends and stores nothing before consent, and then all that happened', async () => {
    attributes = 'data-consent="pending"'
    const page = await context.newPage()
    let requests = 0
    page.on('request', (request) => {
      if (request.url().includes('/api/')) requests += 1
    })
    await page.goto(`${origin}/`)
    await started(page)
    await track(page, 'before')
    await page.evaluate(`window.dispatchEvent(new Event('online'))`)
    expect([requests, await page.evaluate('Object.keys(localStorage)')]).toEqual([0, []])
    await page.evaluate(`waymark.setConsent('granted')`)
    const events = await stored(await visitorOf(page), 2)
    expect(events.map(({ eventName }) => eventName)).toEqual(['page_view', 'before'])
    await page.evaluate(`waymark.setConsent('denied'); waymark.track('after')`)
    expect(await page.evaluate('Object.keys(localStorage)')).toEqual(['wm.c'])
    expect(await page.context().cookies()).toEqual([])
  })

  it('works where storage is blocked', async () => {
    const page = await context.newPage()
    await page.addInitScript(`Object.defineProperty(window, 'localStorage', {
      get: () => { throw new DOMException('denied', 'SecurityError') },
    })`)
    await page.goto(`${origin}/`)
    await started(page)
    await track(page, 'blocked_storage')
    await eventually(
      'it is stored',
      async () => (await eventsWhere('eventName=blocked_storage')).length === 1,
    )
    const [event] = await eventsWhere('eventName=blocked_storage')
    await stored(event?.visitorId ?? '', 2)
  })

  it.each([DAY_MS, -DAY_MS])('has the right time although its clock is off by %d ms', async (offset) => {
    const page = await context.newPage()
    await page.addInitScript(`{
      const RealDate = Date
      const now = () => RealDate.now() + ${offset}
      window.Date = class extends RealDate {
        constructor(...args) { super(...(args.length === 0 ? [now()] : args)) }
        static now() { return now() }
      }
    }`)
    await page.goto(`${origin}/`)
    await started(page)
    await track(page, 'step')
    for (const { timestamp, receivedAt } of await stored(await visitorOf(page), 2))
      expect(Math.abs(Date.parse(timestamp) - Date.parse(receivedAt))).toBeLessThan(HOUR_MS)
  })

  it('without cookies stores nothing, and the visitor of a day has no profile', async () => {
    attributes = 'data-cookieless'
    const pages = await withinOneDay(async () => {
      const step = `cookieless_${randomUUID()}`
      const opened = [await open('/one'), await open('/two')]
      await track(opened[0] as Page, step)
      await eventually('it is stored', async () => (await eventsWhere(`eventName=${step}`)).length === 1)
      const [event] = await eventsWhere(`eventName=${step}`)
      expect(event).toMatchObject({
        visitorId: expect.stringMatching(/^wm:day:[\w-]{22}$/),
        sessionId: null,
        profileId: null,
      })
      await stored(event?.visitorId ?? '', 3)
      return opened
    })
    for (const page of pages) expect(await page.evaluate('Object.keys(localStorage)')).toEqual([])
    expect(await context.cookies()).toEqual([])
  })

  it('only a page can be without cookies', async () => {
    const { key: secret } = (await write('POST', '/api-keys', {
      name: 'server',
      kind: 'sec',
      scopes: ['events:write'],
    })) as { key: string }
    const response = await fetch(`${url}/api/v1/t?cookieless=1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': secret },
      body: JSON.stringify({ eventName: 'step' }),
    })
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'cookieless is for pages, with a key of kind pub; send a visitorId with a key of kind sec' },
    ])
  })

  it('decides without a request for each key, and reports a variant when it is used', async () => {
    await write('POST', '/decisions', {
      key: 'button',
      status: 'active',
      variants: [
        { key: 'old', value: 'grey' },
        { key: 'new', value: 'red' },
      ],
      fallbackVariant: 'old',
      rules: [{ variant: 'new' }],
    })
    const page = await open('/')
    const reported = page.waitForRequest((request) => request.url().includes('/api/v1/exposures'))
    await eventually('the decision is known', async () =>
      page.evaluate<boolean>(`(async () => {
        localStorage.removeItem('wm.d')
        return (await waymark.decide(['button'])).button.value === 'red'
      })()`),
    )
    const { exposures } = (await reported).postDataJSON() as { exposures: { visitorId: string }[] }
    expect(exposures).toMatchObject([{ key: 'button', variant: 'new', visitorId: await visitorOf(page) }])
    await nothingWaits(page)
  })
})
