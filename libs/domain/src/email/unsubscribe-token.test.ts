import fc from 'fast-check'
import { v7 as uuidv7 } from 'uuid'
import { describe, expect, it } from 'vitest'
import { deliveryOfToken, unsubscribeToken } from './unsubscribe-token.ts'

const SECRET = 'a secret of thirty-two characters'
const OTHER = 'another secret of some more characters'

describe('unsubscribe tokens', () => {
  it('contain their delivery for the holder of the secret, also of a replaced one', () => {
    const id = uuidv7()
    const token = unsubscribeToken(id, SECRET)
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(deliveryOfToken(token, [SECRET])).toBe(id)
    expect(deliveryOfToken(token, [OTHER, SECRET])).toBe(id)
    expect(deliveryOfToken(token, [OTHER])).toBeUndefined()
    expect(deliveryOfToken(token, [])).toBeUndefined()
  })

  it('are refused when changed', () => {
    const token = unsubscribeToken(uuidv7(), SECRET)
    fc.assert(
      fc.property(fc.nat(42), fc.constantFrom(...'AZaz09-_'), (at, character) => {
        const changed = token.slice(0, at) + character + token.slice(at + 1)
        expect(deliveryOfToken(changed, [SECRET]) === undefined).toBe(changed !== token)
      }),
    )
  })

  it('are refused when they are anything else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(deliveryOfToken(text, [SECRET])).toBeUndefined()
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        expect(deliveryOfToken(Buffer.from(bytes).toString('base64url'), [SECRET])).toBeUndefined()
      }),
    )
  })
})
