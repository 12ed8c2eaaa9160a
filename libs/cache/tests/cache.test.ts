import { randomBytes } from 'node:crypto'
import {
  CLOSED_PORT,
  createMemoryLog,
  eventually,
  requireServices,
  services,
  startTcpProxy,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cache, createMemoryCache, createRedisCache } from '../src/cache.ts'

const HOUR_MS = 3_600_000

const describeCache = (open: () => Cache): void => {
  let cache: Cache
  beforeAll(async () => {
    cache = open()
    await eventually('the cache answers', async () => {
      await cache.set('probe', 'x', 1_000)
      return (await cache.get('probe')) === 'x'
    })
  })
  afterAll(() => cache.close())

  it('keeps a value until it is replaced or deleted', async () => {
    await cache.set('kept', 'one', HOUR_MS)
    await cache.set('kept', 'two', HOUR_MS)
    expect(await cache.get('kept')).toBe('two')
    await cache.delete('kept')
    expect(await cache.get('kept')).toBeUndefined()
  })

  it('expires a value after its TTL', async () => {
    // Repeated when the machine stops for longer than that between the two.
    await eventually('it is there', async () => {
      await cache.set('brief', 'here', 2_000)
      return (await cache.get('brief')) === 'here'
    })
    await eventually('it is forgotten', async () => (await cache.get('brief')) === undefined)
  })

  it('returns nothing for other keys', async () => {
    expect(await cache.get('never set')).toBeUndefined()
  })
}

describe('the cache in memory', () => describeCache(() => createMemoryCache()))

describe.skipIf(!services)('the cache in Redis', () => {
  const keyPrefix = `t${randomBytes(6).toString('hex')}:`
  // A busy machine stops for longer than the default timeout.
  const options = () => ({ url: requireServices().redisUrl, keyPrefix, commandTimeoutMs: 10_000 })
  describeCache(() => createRedisCache(options(), createMemoryLog()))
})

describe('the cache in Redis during an outage', () => {
  it('behaves as if empty, and logs once', async () => {
    const log = createMemoryLog()
    let failures = 0
    const onFailure = (): void => void failures++
    const cache = createRedisCache({ url: `redis://localhost:${CLOSED_PORT}`, onFailure }, log)
    await cache.set('key', 'value', 1_000)
    expect(await cache.get('key')).toBeUndefined()
    await cache.delete('key')
    expect(log.lines).toHaveLength(1)
    // Three commands, and the connections that were refused.
    expect(failures).toBeGreaterThanOrEqual(3)
    await cache.close()
  })
})

describe.skipIf(!services)('the cache in a Redis that hangs', () => {
  it('closes the connection and opens another', async () => {
    const url = new URL(requireServices().redisUrl)
    const proxy = await startTcpProxy(url.href)
    url.port = `${proxy.port}`
    const cache = createRedisCache({ url: url.href, keyPrefix: 'silent:' }, createMemoryLog())
    const answers = async () => {
      await cache.set('probe', 'x', 1_000)
      return (await cache.get('probe')) === 'x'
    }
    await eventually('it answers', answers)
    const before = proxy.accepted()
    proxy.freeze()
    expect(await answers()).toBe(false)
    await eventually('it asks for another connection', () => proxy.accepted() > before)
    await proxy.restore()
    await eventually('it answers again', answers)
    await cache.close()
    await proxy.stop()
  })
})
