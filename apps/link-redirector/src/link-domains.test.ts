import { createMemoryCache } from '@waymark/cache'
import type { HttpRequest } from '@waymark/service-kit'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { createLinkDomains, hostNameOf } from './link-domains.ts'

const none = { rootUrl: null, notFoundUrl: null, expiredUrl: null }
const requestTo = (host: string, headers: object = {}, byTrustedProxy = false): HttpRequest =>
  ({ headers: { host, ...headers }, byTrustedProxy }) as HttpRequest

/** Domains of a database that a test changes. */
const setUp = (cache = createMemoryCache()) => {
  const database = { hosts: ['go.shop.example'], isAway: false, reads: 0 }
  const query = async ({ name }: { name: string }) => {
    if (database.isAway) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    if (name === 'link-domains-version') return { rows: [{ version: database.hosts.join() }] }
    database.reads += 1
    return { rows: database.hosts.map((host) => ({ id: host, host, ...none })) }
  }
  const time = { now: 0 }
  const domains = createLinkDomains({ pool: { query } as unknown as Pool, cache, now: () => time.now })
  return { database, domains, cache, time }
}

describe('hostNameOf', () => {
  it.each([
    ['go.shop.example', 'go.shop.example'],
    ['GO.Shop.example', 'go.shop.example'],
    ['go.shop.example.', 'go.shop.example'],
    ['go.shop.example:8443', 'go.shop.example'],
    ['Go.shop.example.:443', 'go.shop.example'],
    ['go.shop.example:', 'go.shop.example'],
    ['', ''],
  ])('reads %j as %j', (host, name) => expect(hostNameOf(host)).toBe(name))
})

describe('the verified domains', () => {
  it('are read before the first request is routed, and again only when they change', async () => {
    const { database, domains } = setUp()
    expect(await domains.owns(requestTo('GO.shop.example.:443'))).toBe(true)
    expect(domains.owns(requestTo('localhost'))).toBe(false)
    await domains.poll()
    expect(database.reads).toBe(1)
    database.hosts = ['other.example']
    await domains.poll()
    expect([domains.owns(requestTo('go.shop.example')), domains.owns(requestTo('other.example'))]).toEqual([
      false,
      true,
    ])
  })

  it('are read again after a minute without a change', async () => {
    const { database, domains, time } = setUp()
    await domains.poll()
    time.now = 59_999
    await domains.poll()
    expect(database.reads).toBe(1)
    time.now = 60_000
    await domains.poll()
    expect(database.reads).toBe(2)
  })

  it('are found by the forwarded host of a trusted proxy only', async () => {
    const { domains } = setUp()
    await domains.poll()
    const forwarded = { 'x-forwarded-host': 'go.shop.example' }
    expect(domains.owns(requestTo('proxy', forwarded, true))).toBe(true)
    expect(domains.owns(requestTo('proxy', forwarded, false))).toBe(false)
  })

  it('come from the shared copy without the database, and stay in memory', async () => {
    const { domains, cache, database } = setUp()
    await domains.poll()
    database.isAway = true
    await expect(domains.poll()).rejects.toThrow('connect')
    expect(domains.owns(requestTo('go.shop.example'))).toBe(true)
    const other = setUp(cache)
    other.database.isAway = true
    expect(await other.domains.owns(requestTo('go.shop.example'))).toBe(true)
  })

  it('answer 503 when nothing says which host is meant, and recover', async () => {
    const { domains, database } = setUp()
    database.isAway = true
    await expect(domains.owns(requestTo('go.shop.example'))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    database.isAway = false
    expect(await domains.owns(requestTo('go.shop.example'))).toBe(true)
  })
})
