import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import { CHROMIUM, launchChromium } from '@waymark/testing/chromium'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFlakyProxy } from './sdks/flaky-proxy.ts'
import { CALLS, expectStoredOnce, profileOf } from './sdks/stored-calls.ts'

if (!CHROMIUM && process.env.CI) throw new Error('Chromium is missing, and in CI no test may be left out')

const require = createRequire(import.meta.url)
const SEGMENT = path.dirname(require.resolve('@segment/analytics-next/dist/umd/index.js'))
const RUDDER = path.join(path.dirname(require.resolve('@rudderstack/analytics-js/bundled')), '../umd')
const PROVIDER = require.resolve('@openfeature/ofrep-web-provider')
const beside = (file: string, place: string): string => path.join(path.dirname(file), place)
/** The ES modules that pages import from OpenFeature, as they are published. */
const OPENFEATURE_MODULES: Record<string, string> = {
  '@openfeature/ofrep-web-provider': beside(PROVIDER, 'index.esm.js'),
  '@openfeature/ofrep-core': beside(
    createRequire(PROVIDER).resolve('@openfeature/ofrep-core'),
    'index.esm.js',
  ),
  '@openfeature/web-sdk': beside(require.resolve('@openfeature/web-sdk'), '../esm/index.js'),
  '@openfeature/core': beside(require.resolve('@openfeature/core'), '../esm/index.js'),
}
const POSTHOG = beside(require.resolve('posthog-js'), 'module.js')
const IMPORT_MAP = JSON.stringify({
  imports: Object.fromEntries(Object.keys(OPENFEATURE_MODULES).map((name) => [name, `/modules/${name}`])),
})
const PAGES: Record<string, string> = {
  '/flags': `<title>Shop</title><script type="importmap">${IMPORT_MAP}</script>`,
  '/posthog': '<title>Shop</title>',
  '/segment': '<title>Shop</title><script src="/segment/index.js"></script>',
  '/rudder': '<title>Shop</title><script src="/rudder/index.js"></script>',
}

/**
 * Calls of each kind that a page makes before it waits for their delivery. With thousands at once, Chromium refuses
 * further requests, and each call of the SDK measures all that wait for the next batch.
 */
const CALLS_AT_ONCE = 10
const KINDS = 6

/** What a page does first: it loads the SDK with `settings` and `options`. */
const load = (settings: object, options: object): string =>
  `window.analytics = AnalyticsNext.AnalyticsBrowser.load(${JSON.stringify(settings)}, ${JSON.stringify(options)}); 0`

/** What a page does then: it makes calls of each kind, from number `from` on. */
const callsFrom = (run: string, from: number): string => `(async () => {
  const user = ${JSON.stringify(`${run}-user`)}
  const calls = []
  for (let n = ${from}; n < ${from + CALLS_AT_ONCE}; n++) {
    const properties = { run: ${JSON.stringify(run)}, n }
    calls.push(
      analytics.track('sdk_track', properties),
      analytics.page('Shop', 'Sale', properties),
      analytics.screen('Shop', 'Sale', properties),
      analytics.identify(user, { n }),
      analytics.group('acme', properties),
      analytics.alias(user, ${JSON.stringify(`${run}-previous-`)} + n),
    )
  }
  await Promise.all(calls)
  return (await analytics.user()).anonymousId()
})()`

/** What a page sends when it is left, in each way that a browser has. */
const beacons = (url: string, key: string, visitorId: string): string => `(async () => {
  const eventOf = (how, more) => JSON.stringify({ eventName: how, visitorId: ${JSON.stringify(visitorId)}, ...more })
  const path = ${JSON.stringify(`${url}/api/v1/t`)}
  const apiKey = ${JSON.stringify(key)}
  const json = { type: 'application/json' }
  const form = new FormData()
  form.set('data', eventOf('form'))
  const bodies = [
    eventOf('text'),
    new Blob([eventOf('json')], json),
    new Blob([eventOf('blob')]),
    new TextEncoder().encode(eventOf('bytes')),
    new URLSearchParams({ data: eventOf('url_encoded') }),
    new URLSearchParams({ eventName: 'fields', visitorId: ${JSON.stringify(visitorId)} }),
    form,
  ]
  for (const body of bodies) navigator.sendBeacon(path + '?apiKey=' + apiKey, body)
  navigator.sendBeacon(path, new Blob([eventOf('key_in_json', { apiKey })], json))
  navigator.sendBeacon(path, new URLSearchParams({ data: eventOf('key_in_form'), apiKey }))
  const headers = { 'X-API-Key': apiKey, 'Content-Type': json.type }
  const sent = { method: 'POST', keepalive: true, credentials: 'include', headers, body: eventOf('fetch') }
  return (await fetch(path, sent)).status
})()`

describe.skipIf(!CHROMIUM)('an SDK in a page of another site', { timeout: 300_000 }, () => {
  let waymark: Constellation
  let url: string
  let site: Server
  let browser: Browser

  beforeAll(async () => {
    waymark = await startStandalone()
    url = (await waymark.request('/healthz')).url.replace('/healthz', '')
    site = createServer(async (req, res) => {
      const place = req.url ?? ''
      if (place === '/favicon.ico') return res.writeHead(404).end()
      const page = PAGES[place]
      res.setHeader('Content-Type', page ? 'text/html' : 'text/javascript')
      const module = place === '/posthog.js' ? POSTHOG : OPENFEATURE_MODULES[place.replace('/modules/', '')]
      if (module) return res.end(await readFile(module))
      const folder = place.startsWith('/rudder/') ? RUDDER : SEGMENT
      res.end(page ?? (await readFile(path.join(folder, path.basename(place)))))
    }).listen(0)
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    site?.close()
    await waymark?.stop()
  })

  const open = async (place: string): Promise<Page> => {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}${place}`)
    return page
  }
  const makeCalls = async (
    run: string,
    settings: object,
    options: object,
    whenSent: (page: Page) => Promise<unknown> = async () => {},
  ): Promise<void> => {
    const page = await open('/segment')
    await page.evaluate(load(settings, options))
    let visitor = ''
    for (let from = 0; from < CALLS; from += CALLS_AT_ONCE) {
      const sent = whenSent(page)
      visitor = await page.evaluate<string>(callsFrom(run, from))
      await sent
    }
    await expectStoredOnce(waymark, run)
    // The page may still repeat a call that was refused.
    await eventually('the people are merged', async () => {
      const profile = await profileOf(waymark, 'userId', `${run}-user`)
      expect(profile?.traits).toMatchObject({ n: expect.any(Number), 'groups.acme': { run } })
      for (const id of [visitor, `${run}-previous-0`, `${run}-previous-${CALLS - 1}`])
        expect((await profileOf(waymark, 'visitorId', id))?.id).toBe(profile?.id)
      return true
    })
    await page.close()
  }
  const publicKey = async (...scopes: string[]): Promise<string> => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/api-keys`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        name: 'shop',
        kind: 'pub',
        scopes: scopes.length === 0 ? ['events:write'] : scopes,
      }),
    })
    return ((await response.json()) as { key: string }).key
  }

  it('a page sends events in each way that a browser has, and all are stored', async () => {
    const visitorId = randomUUID()
    const page = await open('/flags')
    expect(await page.evaluate(beacons(url, await publicKey(), visitorId))).toBe(202)
    await eventually('all are stored', async () => {
      const response = await waymark.request(
        `/api/projects/${waymark.projectId}/events?visitorId=${visitorId}`,
      )
      const { data } = (await response.json()) as { data: { eventName: string }[] }
      expect(data.map(({ eventName }) => eventName).sort()).toEqual([
        'blob',
        'bytes',
        'fetch',
        'fields',
        'form',
        'json',
        'key_in_form',
        'key_in_json',
        'text',
        'url_encoded',
      ])
      return true
    })
    await page.close()
  })

  it('@segment/analytics-next sends each call once by the settings that Waymark answers, though an answer is lost and a request refused', async () => {
    const proxy = await startFlakyProxy(url)
    await makeCalls('browser', { writeKey: await publicKey(), cdnURL: proxy.url }, {})
    expect(proxy.faults).toEqual(['lose the answer', '503'])
    proxy.stop()
  })

  it('@segment/analytics-next sends batches by settings of its own', async () => {
    const writeKey = await publicKey()
    const cdnSettings = { integrations: { 'Segment.io': { apiKey: writeKey } } }
    const size = CALLS_AT_ONCE * KINDS
    const deliveryStrategy = { strategy: 'batching', config: { size, timeout: 1_000 } }
    const apiHost = `${new URL(url).host}/v1`
    const integrations = { 'Segment.io': { apiHost, protocol: 'http', deliveryStrategy } }
    await makeCalls('browser-batches', { writeKey, cdnSettings }, { integrations }, (page) =>
      page.waitForResponse((response) => response.url().endsWith('/v1/b')),
    )
  })

  it('@rudderstack/analytics-js sends each call once, though an answer is lost and a request refused', async () => {
    const proxy = await startFlakyProxy(url)
    const page = await open('/rudder')
    const calls = 20
    await page.evaluate(`(() => {
      const analytics = new rudderanalytics.RudderAnalytics()
      const url = ${JSON.stringify(proxy.url)}
      analytics.load(${JSON.stringify(await publicKey())}, url, { configUrl: url })
      for (let n = 0; n < ${calls}; n++) {
        analytics.track('rudder_track', { n })
        analytics.identify('rudder-user', { n })
        analytics.group('acme', { n })
        analytics.alias('rudder-user', 'rudder-previous-' + n)
      }
    })()`)
    const numbers = async () => {
      const response = await waymark.request(
        `/api/projects/${waymark.projectId}/events?eventName=rudder_track&limit=100`,
      )
      const { data } = (await response.json()) as { data: { properties: { n: number } }[] }
      return data.map(({ properties }) => properties.n).sort((a, b) => a - b)
    }
    await eventually('all calls are stored', async () => (await numbers()).length >= calls, 150_000)
    expect(await numbers()).toEqual(Array.from({ length: calls }, (_, n) => n))
    expect(proxy.faults).toEqual(['lose the answer', '503'])
    await eventually('the people are merged', async () => {
      const profile = await profileOf(waymark, 'userId', 'rudder-user')
      const previous = await profileOf(waymark, 'visitorId', `rudder-previous-${calls - 1}`)
      return profile?.id !== undefined && profile.id === previous?.id && 'groups.acme' in profile.traits
    })
    proxy.stop()
    await page.close()
  })

  it('@rudderstack/analytics-js sends beacons', async () => {
    const page = await open('/rudder')
    await page.evaluate(`(() => {
      const analytics = new rudderanalytics.RudderAnalytics()
      const url = ${JSON.stringify(url)}
      const beaconQueueOptions = { maxItems: 1, flushQueueInterval: 100 }
      analytics.load(${JSON.stringify(await publicKey())}, url, { configUrl: url, useBeacon: true, beaconQueueOptions })
      analytics.track('rudder_beacon', {})
    })()`)
    await eventually('the call is stored', async () => {
      const response = await waymark.request(
        `/api/projects/${waymark.projectId}/events?eventName=rudder_beacon`,
      )
      return ((await response.json()) as { data: unknown[] }).data.length === 1
    })
    await page.close()
  })

  it('posthog-js sends events, people and beacons, each once, and reads flags', async () => {
    const project = `/api/projects/${waymark.projectId}`
    const post = async (place: string, body: object): Promise<void> => {
      const response = await waymark.request(`${project}/${place}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(response.ok, place).toBe(true)
    }
    await post('decisions', {
      key: 'posthog-banner',
      name: 'Banner',
      variants: [
        { key: 'none', value: null },
        { key: 'sale', value: { percent: 20 } },
      ],
      fallbackVariant: 'none',
      rules: [{ condition: null, rollout: 100, variant: 'sale' }],
    })
    await post('decisions/posthog-banner/activate', {})
    await eventually('the decision applies', async () => {
      const response = await waymark.request('/flags/?v=2', {
        method: 'POST',
        body: JSON.stringify({ distinct_id: 'nobody' }),
      })
      return (await response.text()).includes('"variant":"sale"')
    })
    const proxy = await startFlakyProxy(url)
    const key = await publicKey('events:write', 'decide')
    const page = await open('/posthog')
    const seen = await page.evaluate<{ visitor: string; flag: unknown; payload: unknown }>(`(async () => {
      const { default: posthog } = await import('/posthog.js')
      window.posthog = posthog
      await new Promise((loaded) => posthog.init(${JSON.stringify(key)}, {
        api_host: ${JSON.stringify(proxy.url)},
        // Only events are sent through the proxy.
        flags_api_host: ${JSON.stringify(url)},
        autocapture: false,
        // The SDK sends nothing from browsers that are driven by programs otherwise.
        opt_out_useragent_filter: true,
        request_queue_config: { flush_interval_ms: 250 },
        loaded,
      }))
      await new Promise((loaded) => posthog.onFeatureFlags(loaded))
      const flag = posthog.getFeatureFlag('posthog-banner')
      const payload = posthog.getFeatureFlagPayload('posthog-banner')
      const visitor = posthog.get_distinct_id()
      for (let n = 0; n < 20; n++) posthog.capture('posthog_track', { n })
      posthog.identify('posthog-user', { plan: 'free' }, { first: 'a' })
      return { visitor, flag, payload }
    })()`)
    // The proxy may refuse this request, and the SDK then repeats it after later ones: the last receipt wins.
    await eventually('the user is known', async () => {
      const profile = await profileOf(waymark, 'userId', 'posthog-user')
      return profile?.traits.plan === 'free'
    })
    await page.evaluate(`
      posthog.setPersonProperties({ plan: 'pro' }, { first: 'b' })
      posthog.capture('posthog_identified')`)
    expect(seen).toMatchObject({ flag: 'sale', payload: { percent: 20 } })
    const eventsNamed = async (name: string) => {
      const response = await waymark.request(`${project}/events?eventName=${name}&limit=100`)
      return (
        (await response.json()) as {
          data: { properties: { n?: number }; visitorId: string; userId: string | null }[]
        }
      ).data
    }
    await eventually(
      'all calls are stored',
      async () => (await eventsNamed('posthog_track')).length >= 20,
      60_000,
    )
    const tracked = await eventsNamed('posthog_track')
    expect(tracked.map(({ properties }) => properties.n).sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 20 }, (_, n) => n),
    )
    expect(new Set(tracked.map(({ visitorId }) => visitorId))).toEqual(new Set([seen.visitor]))
    await eventually('the event of the user is stored', async () => {
      const [event] = await eventsNamed('posthog_identified')
      return event?.userId === 'posthog-user'
    })
    await eventually('the people are merged', async () => {
      const profile = await profileOf(waymark, 'userId', 'posthog-user')
      expect(profile?.traits).toEqual({ plan: 'pro', first: 'a' })
      expect((await profileOf(waymark, 'visitorId', seen.visitor))?.id).toBe(profile?.id)
      return true
    })
    // It may be in the request that was refused, and come after the others.
    await eventually('the page view is stored', async () =>
      (await eventsNamed('page_view')).some(({ visitorId }) => visitorId === seen.visitor),
    )
    // What waits for the next batch is sent as a beacon when the page is left.
    await page.evaluate("posthog.capture('posthog_beacon')")
    await page.goto('about:blank')
    await eventually('the beacon is stored', async () => (await eventsNamed('posthog_beacon')).length === 1)
    proxy.stop()
    await page.close()
  })

  it('@openfeature/web-sdk with its OFREP provider hears of a changed flag without polling', async () => {
    const write = async (method: string, place: string, body: object): Promise<void> => {
      const response = await waymark.request(`/api/projects/${waymark.projectId}/decisions${place}`, {
        method,
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(response.status).toBeLessThan(300)
    }
    const flag = (value: string) => ({
      variants: [{ key: 'only', value }],
      fallbackVariant: 'only',
      rules: [],
    })
    await write('POST', '', { key: 'colour', status: 'active', ...flag('red') })
    const page = await open('/flags')
    let streams = 0
    page.on('response', (response) => {
      if (response.url().includes('/ofrep/') && response.request().method() === 'GET') streams += 1
    })
    await page.evaluate(`(async () => {
      const { OpenFeature, ProviderEvents } = await import('@openfeature/web-sdk')
      const { OFREPWebProvider } = await import('@openfeature/ofrep-web-provider')
      const headers = [['X-API-Key', ${JSON.stringify(await publicKey('decide'))}]]
      const provider = new OFREPWebProvider({ baseUrl: ${JSON.stringify(url)}, headers, cacheMode: 'disabled' })
      await OpenFeature.setProviderAndWait(provider, { targetingKey: 'visitor-1' })
      window.client = OpenFeature.getClient()
      window.changes = 0
      client.addHandler(ProviderEvents.ConfigurationChanged, () => window.changes++)
    })()`)
    const colour = () => page.evaluate<string>(`client.getStringValue('colour', 'none')`)
    // The process may not know the flag at the first request, and then tells of it by the stream.
    await eventually('the page shows the value', async () => (await colour()) === 'red')
    await eventually('the stream is open', () => streams > 0)
    await write('PATCH', '/colour', flag('green'))
    await eventually('the page shows the new value', async () => (await colour()) === 'green')
    await waymark.kill('standalone')
    await waymark.restart('standalone')
    await write('PATCH', '/colour', flag('blue'))
    await eventually('it hears of the next one after a restart', async () => (await colour()) === 'blue')
    expect(await page.evaluate<number>('changes')).toBeGreaterThanOrEqual(2)
    await page.close()
  })
})
