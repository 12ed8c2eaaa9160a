import type { HttpRequest } from '@waymark/service-kit'
import { expect, it } from 'vitest'
import type { PreparedLink } from './link-cache.ts'
import { createRedirects } from './redirect-route.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

/** The redirects of one link without a password. Nothing that they may not use is there. */
const redirectsOf = (terms: Partial<PreparedLink>) =>
  createRedirects({
    links: {
      get: async (code: string) =>
        code === 'sale'
          ? { code, status: 'active', startsAt: null, expiresAt: null, extras: null, ...terms }
          : null,
    },
    clock: () => NOW,
  } as unknown as Parameters<typeof createRedirects>[0])

const message = { accepts: () => 'json' }
const request = () => ({ method: 'POST', message, headers: {}, replyHeaders: {} }) as unknown as HttpRequest

it('answers a form for a link that has not started like one for a link that does not exist', async () => {
  const { unlock } = redirectsOf({ startsAt: NOW + 1 })
  const unknown = await unlock(request(), 'other')
  expect(unknown).toMatchObject({ status: 404 })
  expect(await unlock(request(), 'sale')).toEqual(unknown)
})

it.each<[string, Partial<PreparedLink>, string]>([
  ['has ended', { status: 'paused' }, 'paused'],
  ['has expired', { expiresAt: NOW }, 'expired'],
])('says that a link %s before it says that it has no password', async (_what, terms, reason) => {
  const { unlock } = redirectsOf(terms)
  expect(await unlock(request(), 'sale')).toMatchObject({ status: 410, body: { reason } })
})

it('refuses a form for a link without a password', async () => {
  const { unlock } = redirectsOf({ startsAt: NOW })
  await expect(unlock(request(), 'sale')).rejects.toMatchObject({ code: 'method_not_allowed' })
})

it.each(['sale.', 'sale ', 'sale),'])(
  'finds the link for %j, which a text added something to',
  async (code) => {
    const { unlock } = redirectsOf({ status: 'paused' })
    expect(await unlock(request(), code)).toMatchObject({ status: 410 })
  },
)
