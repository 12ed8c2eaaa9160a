import { describe, expect, it } from 'vitest'
import { comparableAddress, emailAddressIn, parseMailbox, spellingsOf } from './address.ts'

describe('emailAddressIn', () => {
  it('reads a trait of any type', () => {
    expect(emailAddressIn(' Ann@x.example ')).toBe('Ann@x.example')
    expect(emailAddressIn('ann@उदाहरण.example')).toBe('ann@उदाहरण.example')
    for (const trait of [undefined, null, 7, {}, ['a@x.example'], '', 'ann'])
      expect(emailAddressIn(trait)).toBeUndefined()
  })
})

describe('comparableAddress', () => {
  it.each([
    [' Ann@X.Example ', 'ann@x.example'],
    ['x@bücher.example', 'x@xn--bcher-kva.example'],
    [' No Address ', 'no address'],
  ])('of %j is %j', (text, comparable) => {
    expect(comparableAddress(text)).toBe(comparable)
  })
})

describe('spellingsOf', () => {
  it.each([
    ['x@bücher.example', ['x@bücher.example', 'x@xn--bcher-kva.example']],
    ['X@xn--bcher-kva.example', ['X@xn--bcher-kva.example', 'x@xn--bcher-kva.example', 'x@bücher.example']],
    ['ann@x.example', ['ann@x.example']],
    ['ann', ['ann']],
  ])('of %s are those with which a search finds it', (text, spellings) => {
    expect(spellingsOf(text)).toEqual(spellings)
  })
})

describe('parseMailbox', () => {
  it('reads a name with an address, or an address', () => {
    expect(parseMailbox('Shop & Co. <hello@shop.example>')).toEqual({
      name: 'Shop & Co.',
      address: 'hello@shop.example',
    })
    expect(parseMailbox('hello@shop.example')).toEqual({ name: '', address: 'hello@shop.example' })
    expect(parseMailbox('<hello@shop.example>')).toEqual({ name: '', address: 'hello@shop.example' })
  })

  it('refuses everything else', () => {
    for (const text of [
      '',
      'Shop',
      'a@x.example, b@x.example',
      'A <a@x.example>, B <b@x.example>',
      'A\r\nBcc: b@x.example <a@x.example>',
      '"A" <a@x.example>',
      `${'n'.repeat(201)} <a@x.example>`,
    ])
      expect(parseMailbox(text), text).toBeUndefined()
  })
})
