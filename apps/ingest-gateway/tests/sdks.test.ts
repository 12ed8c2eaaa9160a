import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { Analytics } from '@segment/analytics-node'
import { type Constellation, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FlakyProxy, startFlakyProxy } from './sdks/flaky-proxy.ts'
import { CALLS, expectMerged, expectStoredOnce } from './sdks/stored-calls.ts'

// Each SDK is as its maker published it: only its host and key are changed, and sizes of batches.
describe('an SDK of Segment’s protocol stores each call once, though an answer is lost and a request refused', () => {
  let waymark: Constellation
  let url: string
  const proxies: FlakyProxy[] = []

  beforeAll(async () => {
    waymark = await startStandalone()
    url = (await waymark.request('/healthz')).url.replace('/healthz', '')
  })
  afterAll(async () => {
    for (const proxy of proxies) proxy.stop()
    await waymark?.stop()
  })

  const startProxy = async (): Promise<FlakyProxy> => {
    const proxy = await startFlakyProxy(url)
    proxies.push(proxy)
    return proxy
  }
  const expectAll = async (proxy: FlakyProxy, name: string): Promise<void> => {
    expect(proxy.faults).toEqual(['lose the answer', '503'])
    await expectStoredOnce(waymark, name)
    await expectMerged(waymark, name)
  }

  it('@segment/analytics-node', async () => {
    const proxy = await startProxy()
    const name = 'segment-node'
    const analytics = new Analytics({ writeKey: waymark.apiKey, host: proxy.url, flushAt: CALLS / 2 })
    const errors: unknown[] = []
    analytics.on('error', (error) => errors.push(error))
    for (let n = 0; n < CALLS; n++) {
      const [userId, anonymousId] = [`${name}-user-${n}`, `${name}-visitor-${n}`]
      const properties = { run: name, n }
      analytics.track({ event: 'sdk_track', anonymousId, properties })
      analytics.page({ name: 'Sale', anonymousId, properties })
      analytics.screen({ name: 'Sale', anonymousId, properties })
      analytics.identify({ userId, anonymousId, traits: { n } })
      analytics.group({ userId, groupId: 'acme', traits: properties })
      analytics.alias({ previousId: `${name}-previous-${n}`, userId })
    }
    await analytics.flush({ close: true, timeout: 60_000 })
    expect(errors).toEqual([])
    await expectAll(proxy, name)
  })

  it('@rudderstack/rudder-sdk-node', async () => {
    const proxy = await startProxy()
    const name = 'rudderstack-node'
    const client = new RudderAnalytics(waymark.apiKey, {
      dataPlaneUrl: proxy.url,
      flushAt: CALLS / 2,
      maxInternalQueueSize: 6 * CALLS,
    })
    for (let n = 0; n < CALLS; n++) {
      const [userId, anonymousId] = [`${name}-user-${n}`, `${name}-visitor-${n}`]
      const properties = { run: name, n }
      client.track({ event: 'sdk_track', anonymousId, properties })
      client.page({ name: 'Sale', anonymousId, properties })
      client.screen({ name: 'Sale', anonymousId, properties })
      client.identify({ userId, anonymousId, traits: { n } })
      client.group({ userId, groupId: 'acme', traits: properties })
      client.alias({ previousId: `${name}-previous-${n}`, userId })
      // It measures its whole queue at each call.
      if (n % 40 === 39) await client.flush()
    }
    await client.flush()
    await expectAll(proxy, name)
  })
})
