import { expect, it } from 'vitest'
import { generateToken, hashToken } from './token.ts'

it('creates tokens that are found by their hash', () => {
  const { token, hash } = generateToken()
  expect(token).toHaveLength(43)
  expect(hashToken(token)?.equals(hash)).toBe(true)
  expect(generateToken().token).not.toBe(token)
})

it.each(['', 'short', 'x'.repeat(44), `${'x'.repeat(42)}=`, `${'x'.repeat(42)}\n`])('refuses %j', (text) => {
  expect(hashToken(text)).toBeUndefined()
})
