import { expect, it } from 'vitest'
import { generateAccessToken, generateToken, hashAccessToken, hashToken, isAccessToken } from './token.ts'

it('creates tokens that are found by their hash', () => {
  const { token, hash } = generateToken()
  expect(token).toHaveLength(43)
  expect(hashToken(token)?.equals(hash)).toBe(true)
  expect(generateToken().token).not.toBe(token)
})

it.each(['', 'short', 'x'.repeat(44), `${'x'.repeat(42)}=`, `${'x'.repeat(42)}\n`])('refuses %j', (text) => {
  expect(hashToken(text)).toBeUndefined()
})

it('creates access tokens that are found by their hash', () => {
  const { token, hash } = generateAccessToken()
  expect(token).toMatch(/^wm_pat_[\w-]{43}$/)
  expect(hashAccessToken(token)?.equals(hash)).toBe(true)
  expect(isAccessToken(token)).toBe(true)
})

it.each([
  '',
  'wm_pat_',
  `wm_pat_${'x'.repeat(42)}`,
  `wm_pat_${'x'.repeat(44)}`,
  'x'.repeat(43),
  `WM_PAT_${'x'.repeat(43)}`,
])('refuses the access token %j', (text) => {
  expect(hashAccessToken(text)).toBeUndefined()
})
