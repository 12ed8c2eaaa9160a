import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clientNetworkOf, storableIp, truncateIp } from './ip-address.ts'

describe('truncateIp', () => {
  it.each([
    ['203.0.113.77', '203.0.113.0'],
    ['203.0.113.0', '203.0.113.0'],
    ['255.255.255.255', '255.255.255.0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
    ['2001:DB8:ffff::1', '2001:db8:ffff::'],
    ['::1', '::'],
    ['::ffff:203.0.113.77', '203.0.113.0'],
    ['::ffff:cb00:714d', '203.0.113.0'],
    ['fe80::1%eth0', 'fe80::'],
  ])('returns for %s %s', (address, network) => {
    expect(truncateIp(address)).toBe(network)
  })

  it.each([
    '',
    'unknown',
    '203.0.113',
    '203.0.113.256',
    '203.0.113.77:443',
    '203.0.113.77/32',
    '[2001:db8::1]',
    '2001:db8',
    '2001:db8::1::2',
    '3405803853',
    '0xcb00714d',
    '0313.0.0161.0115',
    '203.0.113.77, 10.0.0.1',
    ' 203.0.113.77',
  ])('finds no address in %j', (text) => {
    expect(truncateIp(text)).toBeNull()
    expect(storableIp(text, 'keep')).toBeNull()
  })

  it('keeps only the first three bytes of an IPv4 address', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const network = address.split('.').slice(0, 3).join('.')
        expect(truncateIp(address)).toBe(`${network}.0`)
        expect(truncateIp(`::ffff:${address}`)).toBe(`${network}.0`)
      }),
    )
  })

  it('keeps 48 bits of an IPv6 address', () => {
    const group = fc.integer({ min: 1, max: 0xffff }).map((bits) => bits.toString(16))
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        expect(truncateIp(groups.join(':'))).toBe(`${groups.slice(0, 3).join(':')}::`)
      }),
    )
  })

  it('returns null or an address that it does not truncate further, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.ipV4Extended()), (text) => {
        const network = truncateIp(text)
        if (network !== null) expect(truncateIp(network)).toBe(network)
      }),
    )
  })
})

describe('storableIp', () => {
  it.each([
    ['keep', '203.0.113.77'],
    ['truncate', '203.0.113.0'],
    ['drop', null],
  ] as const)('has a setting %s', (storage, stored) => {
    expect(storableIp('203.0.113.77', storage)).toBe(stored)
    expect(storableIp('::ffff:203.0.113.77', storage)).toBe(stored)
    expect(storableIp(null, storage)).toBeNull()
  })
})

describe('clientNetworkOf', () => {
  it.each([
    ['203.0.113.77', '203.0.113.77'],
    ['::ffff:203.0.113.77', '203.0.113.77'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:DB8:1:2::', '2001:db8:1:2::'],
    ['2001:db8:1:3::1', '2001:db8:1:3::'],
    ['::1', '::'],
    ['', ''],
    ['203.0.113.77:443', '203.0.113.77:443'],
    ['x'.repeat(100), 'x'.repeat(64)],
  ])('returns for %s %s', (address, network) => {
    expect(clientNetworkOf(address)).toBe(network)
  })
})
