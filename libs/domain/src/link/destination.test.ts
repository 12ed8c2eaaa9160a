import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressFor, checkDestination, prepareDestination } from './destination.ts'

const usable = (text: string): string => {
  const checked = checkDestination(text)
  if ('problem' in checked) throw new Error(checked.problem)
  return checked.url
}
const prepared = (text: string, utm = {}) => prepareDestination(usable(text), utm)

const PRINTABLE = /^[\x21-\x7e]+$/

describe('checkDestination', () => {
  it.each([
    ['HTTP://Example.COM:80', 'http://example.com/'],
    ['https://example.com/a b', 'https://example.com/a%20b'],
    ['https://bücher.example/ü?ü#ü', 'https://xn--bcher-kva.example/%C3%BC?%C3%BC#%C3%BC'],
    ['https://example.com/a/../b', 'https://example.com/b'],
    ['https://[::1]:8080/', 'https://[::1]:8080/'],
    [`https://e.example/${'x'.repeat(2_030)}`, `https://e.example/${'x'.repeat(2_030)}`],
  ])('normalizes %s', (text, url) => {
    expect(checkDestination(text)).toEqual({ url })
  })

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt://example.com/%0aalert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'ftp://example.com/',
    'mailto:me@example.com',
    '//example.com/',
    '/relative',
    'example.com',
    'https:example.com',
    'https:/example.com',
    'https://',
    'https://user@example.com/',
    'https://user:pass@example.com/',
    'https://example.com/\nSet-Cookie: a=b',
    'java\nscript:alert(1)',
    'https://exa\tmple.com/',
    'https://example.com/\0',
    'https://exa mple.com/',
    '',
    `https://e.example/${'x'.repeat(2_031)}`,
    // Within the limit before encoding, above it afterwards.
    `https://e.example/${'ü'.repeat(1_000)}`,
  ])('refuses %j', (text) => {
    expect(checkDestination(text)).toHaveProperty('problem')
  })

  it('accepts only printable, absolute, normalized URLs without credentials', () => {
    const fragments = fc.constantFrom(
      'https://',
      'http://',
      'javascript:',
      '//',
      '@',
      ':',
      '\\',
      '\r\n',
      '%0d',
      '#',
      '?',
    )
    const text = fc.oneof(
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      fc.array(fc.oneof(fragments, fc.string({ unit: 'binary' }))).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (given) => {
        const checked = checkDestination(given)
        if ('problem' in checked) return
        const url = new URL(checked.url)
        expect(['http:', 'https:']).toContain(url.protocol)
        expect(url.username + url.password).toBe('')
        expect(checked.url).toMatch(PRINTABLE)
        expect(checked.url.length).toBeLessThanOrEqual(2_048)
        expect(checkDestination(checked.url)).toEqual(checked)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('addressFor', () => {
  const CLICK = '01900000-0000-7000-8000-00000000000a'

  it.each([
    ['https://a.example', `https://a.example/?wm_click=${CLICK}`],
    ['https://a.example/?', `https://a.example/?wm_click=${CLICK}`],
    ['https://a.example/?x=1', `https://a.example/?x=1&wm_click=${CLICK}`],
    ['https://a.example/p#top', `https://a.example/p?wm_click=${CLICK}#top`],
    ['https://a.example/#/route?y=2', `https://a.example/?wm_click=${CLICK}#/route?y=2`],
    ['https://a.example/?wm_click=old&x=1', `https://a.example/?x=1&wm_click=${CLICK}`],
    ['https://a.example/?wm_click=old', `https://a.example/?wm_click=${CLICK}`],
    [
      'https://a.example/?b=%7e+%20(1)&&wm%5Fclick=old&a=*%2F/~#f',
      `https://a.example/?b=%7e+%20(1)&&a=*%2F/~&wm_click=${CLICK}#f`,
    ],
  ])('appends the click to %s', (text, location) => {
    expect(addressFor(prepared(text), CLICK)).toBe(location)
  })

  it('does not change the destination when there is nothing to add', () => {
    const text = 'https://a.example/p%20q?x=%7E+1#top'
    expect(addressFor(prepared(text), null)).toBe(text)
  })

  it('adds missing UTM parameters, and forwarded parameters that the destination lacks', () => {
    const destination = prepared('https://a.example/?utm_source=own#f', { source: 'link', campaign: 'a&b' })
    expect(addressFor(destination, null)).toBe('https://a.example/?utm_source=own&utm_campaign=a%26b#f')
    expect(addressFor(destination, null, 'utm_campaign=c&y=1&utm_source=z&wm_click=x')).toBe(
      'https://a.example/?utm_source=own&utm_campaign=a%26b&y=1#f',
    )
  })

  it('forwards what is repeated in its order, of any number of parameters', () => {
    const names = Array.from({ length: 500 }, (_, n) => `p${n}`)
    const destination = prepared(`https://a.example/?${names.slice(0, 250).join('&')}`)
    const address = addressFor(destination, null, `${names.join('=1&')}=1&p499=2&p0=2`)
    const given = [...new URL(address).searchParams].slice(250)
    expect(given).toEqual([...names.slice(250).map((name) => [name, '1']), ['p499', '2']])
  })

  it('keeps host, path and its own parameters for any query, and is printable', () => {
    const destination = prepared('https://a.example/path?x=1#f', { source: 's' })
    const query = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.webQueryParameters(),
      fc
        .array(fc.constantFrom('x=', '%0d%0a', '\r\n', '#', '?', '&', '=', '//evil.example', 'y', '%'))
        .map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(query, (given) => {
        const location = addressFor(destination, CLICK, given)
        expect(location).toMatch(PRINTABLE)
        const url = new URL(location)
        expect(url.origin + url.pathname + url.hash).toBe('https://a.example/path#f')
        expect(url.searchParams.getAll('x')).toEqual(['1'])
        expect(url.searchParams.getAll('wm_click')).toEqual([CLICK])
      }),
      { numRuns: 2_000 },
    )
  })
})
