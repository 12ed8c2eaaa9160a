import { createMemoryRateLimiter } from '@waymark/cache'
import type { ApiKey, ProjectConfigs } from '@waymark/project-config'
import { describe, expect, it } from 'vitest'
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
