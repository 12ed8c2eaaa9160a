import { argon2Sync } from 'node:crypto'
import { expect, it } from 'vitest'
import { hashPassword } from './password.ts'

const PHC = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/

/** Hashes again with the salt of a hash, as whoever checks a password does. */
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

it('hashes one password to another hash each time', async () => {
  expect(await hashPassword('correct horse')).not.toBe(await hashPassword('correct horse'))
})
