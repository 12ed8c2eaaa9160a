import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { generateIdentitySecret, isUserHash, userHashOf } from './user-hash.ts'

describe('a user hash', () => {
  it('is what `openssl dgst -sha256 -hmac` prints', () => {
    const hash = '88aab3ede8d3adf94d26ab90d3bafd4a2083070c3bcce9c014ee04a443847c0b'
    expect(userHashOf('hello', 'secret')).toBe(hash)
    expect(isUserHash(hash, 'hello', 'secret')).toBe(true)
    expect(isUserHash(hash.toUpperCase(), 'hello', 'secret')).toBe(true)
  })

  it('proves one user by one secret', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (user, other, secret, otherSecret) => {
        const hash = userHashOf(user, secret)
        expect(isUserHash(hash, user, secret)).toBe(true)
        expect(isUserHash(hash, other, secret)).toBe(other === user)
        if (otherSecret.replace(/\0+$/, '') !== secret.replace(/\0+$/, ''))
          expect(isUserHash(hash, user, otherSecret)).toBe(false)
      }),
    )
  })

  it.each(['', 'x', 'g'.repeat(64), 'a'.repeat(63), 'a'.repeat(66), `${'a'.repeat(64)}\n`])(
    'is not %j',
    (hash) => {
      expect(isUserHash(hash, 'hello', 'secret')).toBe(false)
    },
  )

  it('has a secret of at least 256 random bits', () => {
    expect(generateIdentitySecret()).toMatch(/^[\w-]{43}$/)
    expect(generateIdentitySecret()).not.toBe(generateIdentitySecret())
  })
})
