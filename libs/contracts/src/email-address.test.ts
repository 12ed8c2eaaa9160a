import { domainToUnicode } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalAddress, canonicalDomain, deliverableAddress, isEmailAddress } from './email-address.ts'
import { compileValidator } from './validator.ts'

describe('isEmailAddress', () => {
  it.each([
    'a@b.example',
    'ann+tag@mail.shop.example',
    "o'neil@x.io",
    'root@localhost',
    'jörg@müller.example',
    'jörg@müller.example'.normalize('NFD'),
    'ann@उदाहरण.परीक्षा',
    'ann@ตัวอย่าง.ไทย',
    'ann@क्\u200dष.example',
    'ann@نامه\u200cای.example',
    'ann@col·lecció.example',
    'ann@ｓｈｏｐ．example',
    'ann@shop。example',
    'ann@xn--bcher-kva.example',
    'ann@shop.example.',
  ])('accepts %s', (address) => {
    expect(isEmailAddress(address)).toBe(true)
  })

  it.each([
    '',
    'ann',
    '@x.example',
    'ann@',
    'ann@.',
    'a@b@c.example',
    'ann @x.example',
    ' ann@x.example',
    'a,b@x.example',
    'a@x.example,b@x.example',
    '<a@x.example>',
    '"a b"@x.example',
    'a@-x.example',
    'a@x－.example',
    'a@x..example',
    'a@x.example..',
    'a@x_y.example',
    'a@x%2eexample',
    'a@x/y.example',
    'a@x\u00ad.example',
    'a@אa.example',
    'a@xn--bücher.example',
    'a@x.example\r\nRCPT TO:<b@x.example>',
    'a@x.example\n',
    'a\0@x.example',
    'a@[127.0.0.1]',
    'a@x＠y.example',
  ])('refuses %j', (address) => {
    expect(isEmailAddress(address)).toBe(false)
  })

  it('limits the length', () => {
    const local = 'a'.repeat(64)
    expect(isEmailAddress(`${local}@x.example`)).toBe(true)
    expect(isEmailAddress(`${local}a@x.example`)).toBe(false)
    const domain = (length: number) => 'd'.repeat(length)
    expect(isEmailAddress(`ann@${domain(250)}`)).toBe(true)
    expect(isEmailAddress(`ann@${domain(251)}`)).toBe(false)
    // It has 250 characters in Unicode, and more in Punycode.
    expect(isEmailAddress(`ann@${'ü'.repeat(250)}`)).toBe(false)
  })

  it('refuses everything that could end a header or a command', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (local, domain) => {
        const address = `${local}@${domain}`
        if (!isEmailAddress(address)) return
        expect(address.replaceAll(/\u200c|\u200d/g, '')).not.toMatch(/[\s\p{C}<>,;:()"]/u)
        expect(deliverableAddress(address)).toMatch(/^[^\s\p{C}<>,;:()"@]+@[a-z0-9.-]+$/u)
      }),
    )
  })

  it('is the format "idn-email" of schemas', () => {
    const schema = compileValidator({ type: 'string', format: 'idn-email' })
    expect(schema.fits('ann@bücher.example')).toBe(true)
    expect(schema.check('ann')?.message).toBe('must be an email address; got "ann"')
  })
})

describe('canonicalAddress', () => {
  it.each([
    ['case and spaces around', ' Ann@Shop.EXAMPLE ', 'ann@shop.example'],
    ['a domain in Unicode', 'x@bücher.example', 'x@xn--bcher-kva.example'],
    ['one in Punycode', 'x@XN--BCHER-KVA.example', 'x@xn--bcher-kva.example'],
    ['one in upper case', 'x@BÜCHER.example', 'x@xn--bcher-kva.example'],
    ['one with combining marks', 'x@bu\u0308cher.example', 'x@xn--bcher-kva.example'],
    ['one in full width', 'x@ｂücher．example', 'x@xn--bcher-kva.example'],
    ['the dot of the root', 'x@bücher.example.', 'x@xn--bcher-kva.example'],
    ['an ideographic one', 'x@bücher。example。', 'x@xn--bcher-kva.example'],
    ['a composed local part', 'j\u00d6rg@x.example', 'j\u00f6rg@x.example'],
    ['a decomposed local part', 'jO\u0308rg@x.example', 'j\u00f6rg@x.example'],
  ])('is the same for %s', (_, text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical)
  })

  it('is missing for other text', () => {
    expect(canonicalAddress('ann')).toBeUndefined()
  })

  it('stays the same, and does not depend on the spelling', () => {
    fc.assert(
      fc.property(fc.emailAddress(), fc.string({ unit: 'grapheme', minLength: 1 }), (plain, label) => {
        for (const address of [plain, `${label}@${label}.example`]) {
          const canonical = canonicalAddress(address)
          if (canonical === undefined) continue
          expect(canonicalAddress(canonical)).toBe(canonical)
          const [local = '', domain = ''] = canonical.split('@')
          expect(canonicalAddress(`${local.normalize('NFD')}@${domainToUnicode(domain)}.`)).toBe(canonical)
        }
      }),
    )
  })
})

it('writes to the local part as it was spelled', () => {
  expect(deliverableAddress('Ann@Bücher.example.')).toBe('Ann@xn--bcher-kva.example')
})

describe('canonicalDomain', () => {
  it.each([
    ['Shop.Example', 'shop.example'],
    ['shop.example.', 'shop.example'],
    ['münchen.example', 'xn--mnchen-3ya.example'],
    ['1.2.3.4', '1.2.3.4'],
    ['0x7f.1', '0x7f.1'],
  ])('reads %s', (text, domain) => {
    expect(canonicalDomain(text)).toBe(domain)
  })

  it.each(['', '.', 'a..b', 'a b', '*.example', 'a@b', 'ü/x'])('refuses %j', (text) => {
    expect(canonicalDomain(text)).toBeUndefined()
  })
})
