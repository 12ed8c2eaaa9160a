import { createMemoryCache } from '@waymark/cache'
import { linkCopyKey } from '@waymark/pipeline'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { type CopiedLink, createLinkStore } from './link-store.ts'
import type { LinkCopy } from './stored-link-queries.ts'

const copy: LinkCopy = {
  readAt: 1_000,
  link: {
    id: '01900000-0000-7000-8000-00000000000a',
    projectId: '01900000-0000-7000-8000-000000000001',
    domainId: null,
    code: 'sale',
    destination: 'https://shop.example/sale?a={b}|c',
    status: 'active',
    startsAt: null,
    expiresAt: 2_000,
    clickLimit: null,
    expiredUrl: null,
    clicks: 3,
    utm: { source: 'mail' },
    forwardQuery: false,
    targets: [{ os: 'ios', destination: 'https://apps.example/' }],
    passwordHash: null,
    og: { title: 'Sale' },
    variants: [{ key: 'a', destination: 'https://a.example/', weight: 1 }],
    variantKeys: ['a'],
  },
}
const pool = { query: async () => ({ rows: [] }) } as unknown as Pool

describe('the shared copy of a link', () => {
  const read = async (text: string, time = copy.readAt): Promise<CopiedLink | undefined> => {
    const cache = createMemoryCache()
    await cache.set(linkCopyKey('sale'), text, 1_000)
    return createLinkStore({ pool, cache, clock: () => time }).readCopy('sale')
  }

  it('is used by another process', async () => {
    expect((await read(JSON.stringify(copy)))?.link).toEqual(copy.link)
  })

  it.each([
    ['as old as it seems, and what clocks may differ by', 60_000, 65_000],
    ['as old as clocks may differ by, when it has just been read', 0, 5_000],
    ['new, when its time is as far ahead as clocks may be', -5_000, 0],
    ['of unknown age, when its time is further ahead', -5_001, Number.POSITIVE_INFINITY],
  ])('has the age %s', async (_what, sinceMs, ageMs) => {
    expect(await read(JSON.stringify(copy), copy.readAt + sinceMs)).toEqual({ link: copy.link, ageMs })
  })

  it.each([
    ['no JSON', '{'],
    ['nothing', '{}'],
    ['an older shape', JSON.stringify(copy.link)],
    ['that of another link', JSON.stringify({ ...copy, link: { ...copy.link, code: 'other' } })],
    [
      'that of another domain',
      JSON.stringify({ ...copy, link: { ...copy.link, domainId: '01900000-0000-7000-8000-00000000000d' } }),
    ],
    [
      'one whose address for ended links runs a script',
      JSON.stringify({ ...copy, link: { ...copy.link, expiredUrl: 'javascript:alert(1)' } }),
    ],
    [
      'one whose password has no hash',
      JSON.stringify({ ...copy, link: { ...copy.link, passwordHash: 'secret' } }),
    ],
    ['one that leads nowhere', JSON.stringify({ ...copy, link: { ...copy.link, destination: 'nowhere' } })],
    [
      'one that runs a script',
      JSON.stringify({ ...copy, link: { ...copy.link, destination: 'javascript:alert(1)' } }),
    ],
    [
      'one whose variant runs a script',
      JSON.stringify({
        ...copy,
        link: { ...copy.link, variants: [{ key: 'a', destination: 'javascript:alert(1)', weight: 1 }] },
      }),
    ],
    [
      'one whose target leads nowhere',
      JSON.stringify({ ...copy, link: { ...copy.link, targets: [{ os: 'ios', destination: '' }] } }),
    ],
  ])('is not used when it is %s', async (_what, text) => {
    expect(await read(text)).toBeUndefined()
  })
})
