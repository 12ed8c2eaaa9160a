import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describePage, urlHostOf } from './page.ts'

const NO_UTM = { source: null, medium: null, campaign: null, term: null, content: null }
const NOTHING = { url: null, host: null, path: null, utm: NO_UTM, clickIds: {} }

describe('describePage', () => {
  it.each([
    [{}, NOTHING],
    [{ url: 1, path: null }, NOTHING],
    [{ url: '', path: '' }, NOTHING],
    [{ path: '/docs' }, { ...NOTHING, path: '/docs' }],
    [
      { url: 'https://shop.example/a%20b?x=1#top' },
      { url: 'https://shop.example/a%20b?x=1#top', host: 'shop.example', path: '/a%20b' },
    ],
    [{ url: 'https://shop.example/a', path: '/b' }, { path: '/b' }],
    [{ url: 'https://Shop.example:443/' }, { host: 'shop.example' }],
    [{ url: '/cart?utm_source=news' }, { url: '/cart?utm_source=news', host: null, path: '/cart' }],
    [{ url: '?utm_source=news' }, { path: '/', utm: { ...NO_UTM, source: 'news' } }],
    [{ url: 'http://[broken' }, { ...NOTHING, url: 'http://[broken' }],
  ])('reads %j', (properties, page) => {
    expect(describePage(properties)).toMatchObject(page)
  })

  it('reads the first 200 parameters of a query, and of a fragment', () => {
    const sourceAt = (position: number) => `${'a&'.repeat(position - 1)}utm_source=news`
    for (const start of ['?', '#/?']) {
      const sourceOf = (position: number) =>
        describePage({ url: `https://shop.example/${start}${sourceAt(position)}` }).utm.source
      expect([sourceOf(200), sourceOf(201)]).toEqual(['news', null])
    }
  })

  it('reads the campaign', () => {
    const query = 'utm_source=a+b&utm_medium=%C3%A4&utm_campaign=c&utm_term=&utm_content=%F0%9F%A6%A9'
    expect(describePage({ url: `https://shop.example/?${query}` }).utm).toEqual({
      source: 'a b',
      medium: 'ä',
      campaign: 'c',
      term: null,
      content: '🦩',
    })
  })

  it.each([
    'https://shop.example/#/?utm_source=news&gclid=g',
    'https://shop.example/#/sale?a=1&utm_source=news&gclid=g',
    'https://shop.example/#utm_source=news&gclid=g',
    'https://shop.example/?UTM_SOURCE=news&GCLID=g',
    'https://shop.example/?Utm_Source=news&gclid=g',
    'https://shop.example/?a=1&amp;utm_source=news&amp;gclid=g',
    'https://shop.example/?a=1&amp;amp;utm_source=news&amp;gclid=g',
    'https://shop.example/?a=1&#38;utm_source=news&gclid=g',
    'https://shop.example/?utm_source=&gclid=#/?utm_source=news&gclid=g',
  ])('reads the campaign and click ids of %s', (url) => {
    const { utm, clickIds } = describePage({ url, utm_source: 'property', utm_medium: 'email' })
    expect(utm).toMatchObject({ source: 'news', medium: 'email' })
    expect(clickIds).toEqual({ gclid: 'g' })
  })

  it('prefers the query of an address to its fragment', () => {
    expect(describePage({ url: '/?utm_source=a#/?utm_source=b' }).utm.source).toBe('a')
  })

  it('uses the first value of a repeated parameter', () => {
    expect(describePage({ url: '/?utm_source=a&utm_source=b' }).utm.source).toBe('a')
  })

  it.each(['gclid', 'gbraid', 'wbraid', 'dclid', 'fbclid', 'msclkid', 'ttclid', 'twclid', 'li_fat_id'])(
    'finds the click id %s',
    (name) => {
      expect(describePage({ url: `/?${name}=1&other=2` }).clickIds).toEqual({ [name]: '1' })
      expect(describePage({ url: `/?${name}=` }).clickIds).toEqual({})
    },
  )

  // Escapes in a query decode to what the gateway has already replaced elsewhere in the event.
  it('returns only text that PostgreSQL can store', () => {
    const { utm, clickIds } = describePage({ url: '/?utm_source=a%00b&gclid=%00&utm_term=%ED%A0%80' })
    expect(utm.source).toBe('a\uFFFDb')
    expect(clickIds.gclid).toBe('\uFFFD')
    expect(utm.term?.isWellFormed()).toBe(true)
  })

  it('accepts any value as url', () => {
    const parts = fc.constantFrom(
      'https://',
      '//',
      'a.b',
      ':',
      '%',
      '%00',
      '/',
      '?',
      '&',
      '=',
      '#',
      '[',
      '@',
      ' ',
    )
    const nearlyUrl = fc.array(parts, { maxLength: 10 }).map((found) => found.join(''))
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.string(), nearlyUrl), (url) => {
        const page = describePage({ url })
        expect(page.url).toBe(typeof url === 'string' && url !== '' ? url : null)
      }),
    )
  })
})

describe('urlHostOf', () => {
  it.each([
    [null, null],
    ['', null],
    ['nonsense', null],
    ['/relative', null],
    ['mailto:a@b.example', null],
    ['https://Search.Example:8443/q?a=1', 'search.example'],
    ['https://user:secret@search.example/', 'search.example'],
    ['android-app://com.example', 'com.example'],
    ['https://bücher.example/', 'xn--bcher-kva.example'],
  ])('of %j is %j', (referrer, host) => {
    expect(urlHostOf(referrer)).toBe(host)
  })
})
