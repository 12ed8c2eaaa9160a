import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { type Constellation, startStandalone } from '@waymark/testing'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, launchChromium } from './console-browser.ts'
import { startFlakyProxy } from './sdks/flaky-proxy.ts'
import { expectStoredOnce, profileOf } from './sdks/stored-calls.ts'

if (!CHROMIUM && process.env.CI) throw new Error('Chromium is missing, and in CI no test may be left out')

const SDK = path.dirname(createRequire(import.meta.url).resolve('@segment/analytics-next/dist/umd/index.js'))

/** How often each kind of call is made: the SDK keeps its whole queue in the storage of the page at each of them. */
const CALLS = 100

/** What a page does: it loads the SDK with `settings` and `options`, and makes calls of each kind. */
const script = (run: string, settings: object, options: object): string => `(async () => {
  const analytics = AnalyticsNext.AnalyticsBrowser.load(${JSON.stringify(settings)}, ${JSON.stringify(options)})
  const user = ${JSON.stringify(`${run}-user`)}
  const calls = []
  for (let n = 0; n < ${CALLS}; n++) {
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

describe.skipIf(!CHROMIUM)('@segment/analytics-next in a page of another site', { timeout: 180_000 }, () => {
  let waymark: Constellation
  let url: string
  let site: Server
  let browser: Browser

  beforeAll(async () => {
    waymark = await startStandalone()
    url = (await waymark.request('/healthz')).url.replace('/healthz', '')
    site = createServer(async (req, res) => {
      const isPage = req.url === '/'
      if (req.url === '/favicon.ico') return res.writeHead(404).end()
      res.setHeader('Content-Type', isPage ? 'text/html' : 'text/javascript')
      const file = path.join(SDK, path.basename(req.url ?? ''))
      res.end(isPage ? '<title>Shop</title><script src="/index.js"></script>' : await readFile(file))
    }).listen(0)
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    site?.close()
    await waymark?.stop()
  })

  const makeCalls = async (run: string, settings: object, options: object): Promise<void> => {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
    const visitor = await page.evaluate<string>(script(run, settings, options))
    await expectStoredOnce(waymark, run, CALLS)
    await page.close()
    const profile = await profileOf(waymark, 'userId', `${run}-user`)
    expect(profile?.traits).toMatchObject({ n: expect.any(Number), 'groups.acme': { run } })
    for (const id of [visitor, `${run}-previous-0`, `${run}-previous-${CALLS - 1}`])
      expect((await profileOf(waymark, 'visitorId', id))?.id).toBe(profile?.id)
  }
  const publicKey = async (): Promise<string> => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/api-keys`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'shop', kind: 'pub', scopes: ['events:write'] }),
    })
    return ((await response.json()) as { key: string }).key
  }

  it('sends each call once by the settings that Waymark answers, though an answer is lost and a request refused', async () => {
    const proxy = await startFlakyProxy(url)
    await makeCalls('browser', { writeKey: await publicKey(), cdnURL: proxy.url }, {})
    expect(proxy.faults).toEqual(['lose the answer', '503'])
    proxy.stop()
  })

  it('sends batches by settings of its own', async () => {
    const writeKey = await publicKey()
    const cdnSettings = { integrations: { 'Segment.io': { apiKey: writeKey } } }
    const deliveryStrategy = { strategy: 'batching', config: { size: 200, timeout: 1_000 } }
    const apiHost = `${new URL(url).host}/v1`
    const integrations = { 'Segment.io': { apiHost, protocol: 'http', deliveryStrategy } }
    await makeCalls('browser-batches', { writeKey, cdnSettings }, { integrations })
  })
})
