import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { comparableAddress, emailAddressIn, isEmailAddress, parseMailbox } from './address.ts'

describe('isEmailAddress', () => {
  it('accepts deliverable addresses', () => {
    for (const address of [
      'a@b.example',
      'ann+tag@mail.shop.example',
      "o'neil@x.io",
      'root@localhost',
      'jörg@müller.example',
    ])
      expect(isEmailAddress(address)).toBe(true)
  })

  it('refuses invalid and multiple addresses', () => {
    for (const address of [
      '',
      'ann',
      '@x.example',
      'ann@',
      'a@b@c.example',
      'ann @x.example',
      'a,b@x.example',
      'a@x.example,b@x.example',
      '<a@x.example>',
      '"a b"@x.example',
      'a@-x.example',
      'a@x..example',
      'a@x.example\r\nRCPT TO:<b@x.example>',
      'a@x.example\n',
      'a\0@x.example',
      'a@[127.0.0.1]',
    ])
      expect(isEmailAddress(address), address).toBe(false)
  })

  it('limits the length', () => {
    const local = 'a'.repeat(64)
    expect(isEmailAddress(`${local}@x.example`)).toBe(true)
    expect(isEmailAddress(`${local}a@x.example`)).toBe(false)
    const domain = (length: number) => 'd'.repeat(length)
    expect(isEmailAddress(`ann@${domain(250)}`)).toBe(true)
    expect(isEmailAddress(`ann@${domain(251)}`)).toBe(false)
  })

  it('refuses everything that could end a header or a command', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (local, domain) => {
        const address = `${local}@${domain}`
        if (isEmailAddress(address)) expect(address).not.toMatch(/[\s\p{Cc}<>,;:()"]/u)
      }),
    )
  })
})

describe('emailAddressIn', () => {
  it('reads a trait of any type', () => {
    expect(emailAddressIn(' Ann@x.example ')).toBe('Ann@x.example')
    for (const trait of [undefined, null, 7, {}, ['a@x.example'], '', 'ann'])
      expect(emailAddressIn(trait)).toBeUndefined()
  })
})

describe('comparableAddress', () => {
  it('ignores case and surrounding blanks', () =>
    expect(comparableAddress(' Ann@X.Example ')).toBe('ann@x.example'))
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
