import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSender, sendersOf } from './sender.ts'

describe('a sender', () => {
  it.each([
    ['Hello@Shop.example', { sender: 'hello@shop.example', recipient: 'hello@shop.example' }],
    [' shop.example ', { sender: 'shop.example', recipient: 'postmaster@shop.example' }],
    ['müller.example', { sender: 'xn--mller-kva.example', recipient: 'postmaster@xn--mller-kva.example' }],
    ['ann@müller.example', { sender: 'ann@xn--mller-kva.example', recipient: 'ann@xn--mller-kva.example' }],
  ])('is read from %s', (text, sender) => {
    expect(parseSender(text)).toEqual(sender)
  })

  it.each([
    '',
    'localhost',
    '@shop.example',
    'ann@',
    '*.example',
    'a b.example',
    'a@b@c.example',
    'x,y.example',
  ])('is not read from "%s"', (text) => {
    expect(parseSender(text)).toBeUndefined()
  })

  it('matches the address or the domain of a From, not a part of it', () => {
    expect(sendersOf('Shop <Hello@Shop.example>')).toEqual(['hello@shop.example', 'shop.example'])
    expect(sendersOf('hello@mail.shop.example')).not.toContain('shop.example')
    expect(sendersOf('hello@notshop.example')).not.toContain('shop.example')
    // The display name is not an address.
    expect(sendersOf('hello@shop.example <evil@x.example>')).toEqual(['evil@x.example', 'x.example'])
    expect(sendersOf('nonsense')).toEqual([])
  })

  it('allows itself and only valid senders', () => {
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), fc.domain(), fc.string()), (text) => {
        const read = parseSender(text)
        if (read?.sender.includes('@')) expect(sendersOf(read.sender)).toContain(read.sender)
        else if (read) expect(sendersOf(`ann@${read.sender}`)).toContain(read.sender)
      }),
    )
  })
})
