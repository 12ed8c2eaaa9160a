import { expect, it } from 'vitest'
import { generateToken, hashToken } from './token.ts'

it('makes tokens that are found again by their hash', () => {
  const { token, hash } = generateToken()
  expect(token).toHaveLength(43)
  expect(hashToken(token)?.equals(hash)).toBe(true)
  expect(generateToken().token).not.toBe(token)
})

it.each(['', 'short', 'x'.repeat(44), `${'x'.repeat(42)}=`, `${'x'.repeat(42)}\n`])(
  'takes %j for none',
  (text) => {
    expect(hashToken(text)).toBeUndefined()
  },
)
