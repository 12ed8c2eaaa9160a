import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { Analytics } from '@segment/analytics-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FlakyPlatform, startFlakyPlatform } from './sdks/flaky-platform.ts'
import { CALLS } from './sdks/stored-calls.ts'

// Each SDK is as its maker published it: only its host and key are changed, and sizes of batches.
describe('an SDK of Segment’s protocol stores each call once, though an answer is lost and a request refused', () => {
  let platform: FlakyPlatform

  beforeAll(async () => {
    platform = await startFlakyPlatform()
  })
  afterAll(async () => {
    await platform?.stop()
  })

  it('@segment/analytics-node', async () => {
    const proxy = await platform.startProxy()
    const name = 'segment-node'
    const analytics = new Analytics({
      writeKey: platform.waymark.apiKey,
      host: proxy.url,
      flushAt: CALLS / 2,
    })
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
    await platform.expectAll(proxy, name)
  })

  it('@rudderstack/rudder-sdk-node', async () => {
    const proxy = await platform.startProxy()
    const name = 'rudderstack-node'
    const client = new RudderAnalytics(platform.waymark.apiKey, {
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
    await platform.expectAll(proxy, name)
  })
})
