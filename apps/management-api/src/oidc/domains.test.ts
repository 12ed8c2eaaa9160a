import { describe, expect, it } from 'vitest'
import { domainOf, hasRecord, parseDomain, recordOf } from './domains.ts'

describe('parseDomain', () => {
  it.each([
    ['shop.example', 'shop.example'],
    ['Mail.Shop.EXAMPLE', 'mail.shop.example'],
    ['xn--mnchen-3ya.example', 'xn--mnchen-3ya.example'],
    ['München.example', 'xn--mnchen-3ya.example'],
    ['mu\u0308nchen．example', 'xn--mnchen-3ya.example'],
    ['shop.example.', 'shop.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ])('reads %s', (text, domain) => expect(parseDomain(text)).toBe(domain))

  it.each([
    'example',
    'shop..example',
    '.example',
    '127.0.0.1',
    'a@shop.example',
    '*.example',
    'shop .example',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(126)}ab`,
  ])('refuses %s', (text) => expect(parseDomain(text)).toBeUndefined())
})

it('takes the domain after the last @', () => {
  expect(domainOf('"ada@corp.example"@Evil.example')).toBe('evil.example')
})

describe('hasRecord', () => {
  const domain = { domain: 'shop.example', token: 'secret' }
  const value = recordOf(domain).recordValue
  it.each([
    ['the record', [[value]], true],
    ['a record in parts', [['waymark-', 'domain=secret']], true],
    ['another token', [['waymark-domain=other']], false],
    ['more text', [[`${value} and more`]], false],
    ['no record', [], false],
  ])('with %s', async (_, records, expected) => {
    const asked: string[] = []
    const resolve = async (name: string) => {
      asked.push(name)
      return records
    }
    expect(await hasRecord(resolve, domain)).toBe(expected)
    expect(asked).toEqual(['_waymark.shop.example'])
  })

  it('is false when the name servers do not answer', async () => {
    const resolve = () => Promise.reject(new Error('ETIMEOUT'))
    expect(await hasRecord(resolve, domain)).toBe(false)
  })
})
