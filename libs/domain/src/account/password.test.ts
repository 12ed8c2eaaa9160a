import { argon2Sync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashPassword, isCommonPassword, unmatchableHash, verifyPassword } from './password.ts'

const PHC = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/

/** Hashes again with the salt of a hash, like a password check. */
const checks = (password: string, hash: string): boolean => {
  const [, nonce = '', tag = ''] = PHC.exec(hash) ?? []
  const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
  const again = argon2Sync('argon2id', {
    message: password,
    nonce: Buffer.from(nonce, 'base64'),
    ...parameters,
  })
  return again.equals(Buffer.from(tag, 'base64'))
}

it.each(['correct horse battery staple', 'pä$$wörd 🦩', 'x'.repeat(128)])('hashes %s', async (password) => {
  const hash = await hashPassword(password)
  expect(hash).toMatch(PHC)
  expect(checks(password, hash)).toBe(true)
  expect(checks(`${password}.`, hash)).toBe(false)
})

it('hashes a password differently each time', async () => {
  expect(await hashPassword('correct horse')).not.toBe(await hashPassword('correct horse'))
})

describe('verifyPassword', () => {
  it('accepts the password in any Unicode composition', async () => {
    const hash = await hashPassword('caf\u00e9 au lait!')
    expect(await verifyPassword('cafe\u0301 au lait!', hash)).toBe(true)
    expect(await verifyPassword('cafe au lait!', hash)).toBe(false)
  })

  it('uses the parameters of the hash', async () => {
    const nonce = Buffer.from('an older salt..!')
    const parameters = { memory: 8_192, passes: 1, parallelism: 1, tagLength: 16 }
    const tag = argon2Sync('argon2id', { message: 'correct horse', nonce, ...parameters })
    const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
    const hash = `$argon2id$v=19$m=8192,t=1,p=1$${text(nonce)}$${text(tag)}`
    expect(await verifyPassword('correct horse', hash)).toBe(true)
    expect(await verifyPassword('wrong horse', hash)).toBe(false)
  })

  it('matches no password with the unmatchable hash, at the same cost', async () => {
    expect(unmatchableHash()).toMatch(PHC)
    expect(await verifyPassword('', unmatchableHash())).toBe(false)
  })

  it('throws for a malformed hash', async () => {
    await expect(verifyPassword('x', '$argon2id$v=19$')).rejects.toThrow('argon2id')
  })
})

const listed = new Set(['password', 'qwertyuiop', 'monkey', '1q2w3e4r5t6y', 'pass'])

describe('isCommonPassword', () => {
  it.each([
    '1q2w3e4r5t6y',
    '1Q2W3E4R5T6Y',
    'password1234',
    'Password123!',
    '!!!qwertyuiop',
    'monkey123456',
    'passwordpassword',
    'passpasspass',
    'aaaaaaaaaaaa',
    'ababababababab',
  ])('refuses %s', (password) => {
    expect(isCommonPassword(password, listed)).toBe(true)
  })

  it.each([
    'correct horse battery',
    'monkey1234567',
    'password of my cat',
    '8!9#2$7%4&1x',
    'abcabcabcabd',
    'парольнемойсовсем',
    '830914772650',
  ])('accepts %s', (password) => {
    expect(isCommonPassword(password, listed)).toBe(false)
  })
})
