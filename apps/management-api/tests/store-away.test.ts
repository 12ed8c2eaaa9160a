import { generateApiKey } from '@waymark/domain/key'
import { createTestDatabase, services, startTcpProxy } from '@waymark/testing'
import { describe, expect, it } from 'vitest'
import { PASSWORD, startManagement } from './start-management.ts'

describe.skipIf(!services)('the management API without PostgreSQL', () => {
  it('answers 503 with a retry time', async () => {
    const database = await createTestDatabase()
    const proxy = await startTcpProxy(database.url)
    const url = Object.assign(new URL(database.url), { hostname: 'localhost', port: `${proxy.port}` }).href
    const management = await startManagement({
      database: { url, drop: async () => {} },
      repeats503: false,
    })
    const browser = await management.register()
    const projectId = browser.account.projects[0]?.id
    await proxy.cut()
    try {
      const credentials = { email: browser.account.user.email, password: PASSWORD }
      const answers = await Promise.all([
        browser.request('POST', '/api/auth/register', { ...credentials, name: 'Ada' }),
        browser.request('POST', '/api/auth/login', credentials),
        browser.request('GET', '/api/auth/me'),
        browser.request('GET', `/api/projects/${projectId}`),
        browser.request('GET', `/api/projects/${projectId}`, undefined, {
          // A key that is not cached.
          'X-API-Key': generateApiKey('sec').key,
        }),
      ])
      for (const response of answers) {
        expect([response.url, response.status]).toEqual([response.url, 503])
        expect(await response.json()).toEqual({
          error: 'STORE_UNAVAILABLE',
          retryAfterSeconds: Number(response.headers.get('Retry-After')),
        })
      }
      expect((await fetch(`${management.url}/readyz`)).status).toBe(200)
    } finally {
      await management.stop()
      await proxy.stop()
      await database.drop()
    }
  })
})
