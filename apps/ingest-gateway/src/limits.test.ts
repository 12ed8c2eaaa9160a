import { createMemoryRateLimiter } from '@waymark/cache'
import type { ApiKey, ProjectConfigs } from '@waymark/project-config'
import { describe, expect, it } from 'vitest'
import type { Change } from './identify.ts'
import { createLimits } from './limits.ts'

const key = { projectId: '01900000-0000-7000-8000-000000000001' } as ApiKey
const limits = { ingestPerMinute: 3_000, profilePerMinute: 60 } as Parameters<
  typeof createLimits
>[0]['limits']

const setUp = (get: ProjectConfigs['get']) => {
  const limiter = createMemoryRateLimiter()
  const projectConfigs = { get, getCurrent: get, getLatest: get }
  return createLimits({ rateLimiter: limiter, ingestRateLimiter: limiter, limits, projectConfigs })
}

describe('the limit of tracking', () => {
  it("is the project's, or else the deployment's", async () => {
    for (const ingestRequestsPerMinute of [undefined, 7]) {
      const request = { ip: '192.0.2.1', replyHeaders: {} }
      const get = async () => ({ settings: { ingestRequestsPerMinute } })
      await setUp(get as unknown as ProjectConfigs['get']).track(key, request)
      expect(request.replyHeaders).toMatchObject({
        'RateLimit-Limit': `${ingestRequestsPerMinute ?? 3_000}`,
      })
    }
  })

  it('fails with SELECTOR_LOOKUP_FAILED when the project cannot be read', async () => {
    const { track } = setUp(() => Promise.reject(new Error('away')))
    await expect(track(key, { ip: '192.0.2.1', replyHeaders: {} })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: 'SELECTOR_LOOKUP_FAILED',
      details: { retryAfter: 30 },
    })
  })
})

describe('the limits of people in a batch', () => {
  const request = { ip: '192.0.2.1', replyHeaders: {} }
  const get = (async () => ({ settings: {} })) as unknown as ProjectConfigs['get']
  const page = { ...key, kind: 'pub' } as ApiKey
  const traits = (count: number) => Array(count).fill({ visitorId: null, userId: 'u' }) as Change[]
  const links = (count: number) => Array(count).fill({ visitorId: 'v', userId: 'u' }) as Change[]
  const countOf = (allowed: readonly boolean[]) => allowed.filter(Boolean).length

  it('allow a page as many trait writes as profile writes, and as many links as identify calls', async () => {
    const { people, profile } = setUp(get)
    const first = await people(page, request, [...traits(70), ...links(3_100)])
    expect(countOf(first.allowed.slice(0, 70))).toBe(60)
    expect(countOf(first.allowed.slice(70))).toBe(3_000)
    expect(first.allowed.indexOf(false)).toBe(60)
    expect(first.error).toMatchObject({ code: 'rate_limited', details: { retryAfter: 60 } })
    expect(countOf((await people(page, request, traits(1))).allowed)).toBe(0)
    // They are the same as those of the endpoint for one profile.
    await expect(profile(page, request)).rejects.toMatchObject({ code: 'rate_limited' })
    expect(countOf((await people(page, { ip: '192.0.2.2' }, traits(1))).allowed)).toBe(1)
  })

  it('do not limit a server, which may import', async () => {
    const { people } = setUp(get)
    const server = { ...key, kind: 'sec' } as ApiKey
    expect(countOf((await people(server, request, [...traits(500), ...links(4_000)])).allowed)).toBe(4_500)
  })
})
