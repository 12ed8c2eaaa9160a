import { describe, expect, it } from 'vitest'
import { createPasswords } from './passwords.ts'

/** Work that ends when the test resolves it. */
const createWork = () => {
  const inFlight: (() => void)[] = []
  return {
    inFlight,
    hash: () => new Promise<string>((resolve) => inFlight.push(() => resolve('hash'))),
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('createPasswords', () => {
  it('hashes only a few at a time', async () => {
    const { inFlight, hash } = createWork()
    const passwords = createPasswords({ atOnce: 2, hash })
    const asked = Array.from({ length: 50 }, () => passwords.hash('x'))
    let most = 0
    for (let done = 0; done < 50; ) {
      await settle()
      most = Math.max(most, inFlight.length)
      const ready = inFlight.splice(0)
      done += ready.length
      for (const finish of ready) finish()
    }
    expect(await Promise.all(asked)).toHaveLength(50)
    expect(most).toBe(2)
  })

  it('refuses requests beyond the queue with a retry time', async () => {
    const { inFlight, hash } = createWork()
    const passwords = createPasswords({ atOnce: 1, maxWaiting: 3, hash })
    const first = passwords.hash('x')
    await settle()
    const waiting = [passwords.hash('x'), passwords.hash('x'), passwords.hash('x')]
    await expect(passwords.hash('x')).rejects.toMatchObject({
      code: 'overloaded',
      details: { retryAfterSeconds: 2 },
    })
    for (let done = 0; done < 4; done++) {
      await settle()
      inFlight.shift()?.()
    }
    await expect(Promise.all([first, ...waiting])).resolves.toHaveLength(4)
  })

  it('checks against a hash of the same cost when there is no account', async () => {
    const checked: string[] = []
    const verify = async (_password: string, hash: string) => {
      checked.push(hash.replace(/\$[^$]+\$[^$]+$/, ''))
      return false
    }
    const passwords = createPasswords({ verify })
    const stored = await createPasswords().hash('a horse, a battery')
    await passwords.verify('x', stored)
    await passwords.verify('x', undefined)
    expect(checked).toEqual(['$argon2id$v=19$m=19456,t=2,p=1', '$argon2id$v=19$m=19456,t=2,p=1'])
  })

  it('refuses common passwords and the address itself', async () => {
    const { requireUncommon } = createPasswords()
    const refused = { details: { errors: [{ field: 'password', rule: 'common' }] } }
    await expect(requireUncommon('qwerty123456', 'a@b.example', 'password')).rejects.toMatchObject(refused)
    await expect(requireUncommon('Ada@Shop.example', 'ada@shop.example', 'password')).rejects.toMatchObject(
      refused,
    )
    await expect(requireUncommon('a horse, a battery', 'a@b.example', 'password')).resolves.toBeUndefined()
  })
})
