import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseLinkHost } from './link-host.ts'

describe('parseLinkHost', () => {
  it.each([
    ['go.shop.example', 'go.shop.example'],
    ['GO.Shop.EXAMPLE', 'go.shop.example'],
    ['go.shop.example.', 'go.shop.example'],
    ['münchen.example', 'xn--mnchen-3ya.example'],
    ['MÜNCHEN.example', 'xn--mnchen-3ya.example'],
    ['XN--MNCHEN-3YA.example', 'xn--mnchen-3ya.example'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    [`${'a.'.repeat(118)}shop.exa`, `${'a.'.repeat(118)}shop.exa`],
  ])('reads %s as %s', (text, host) => expect(parseLinkHost(text)).toBe(host))

  it.each([
    '',
    '.',
    'localhost',
    'go.shop.example:443',
    'go.shop.example..',
    '.shop.example',
    'https://go.shop.example',
    'go.shop.example/',
    'go.shop.example?a',
    'user@shop.example',
    'go.shop%2eexample',
    'go shop.example',
    '*.shop.example',
    'go_1.shop.example',
    '-go.shop.example',
    '127.0.0.1',
    '0x7f.1',
    '１２７.0.0.1',
    '[::1]',
    'xn--a.example\u0000',
    `${'a'.repeat(64)}.example`,
    // One character more than the name of the DNS record allows.
    `${'a.'.repeat(118)}shop.exam`,
  ])('refuses %j', (text) => expect(parseLinkHost(text)).toBeUndefined())

  it('reads every spelling of a host as the same host, and its own result as it is', () => {
    fc.assert(
      fc.property(fc.domain(), fc.infiniteStream(fc.boolean()), fc.boolean(), (domain, upper, dot) => {
        const host = parseLinkHost(domain)
        if (host === undefined) return
        const spelled = [...domain].map((c) => (upper.next().value ? c.toUpperCase() : c)).join('')
        expect(parseLinkHost(spelled + (dot ? '.' : ''))).toBe(host)
        expect(parseLinkHost(host)).toBe(host)
        expect(parseLinkHost(`${host}:443`)).toBeUndefined()
      }),
    )
  })

  it('never answers anything but a lower-case ASCII name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const host = parseLinkHost(`${text}.example`)
        if (host !== undefined) expect(host).toMatch(/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/)
      }),
    )
  })
})
