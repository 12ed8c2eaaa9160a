import { chargeWork, runAsWork } from '@waymark/domain/fairness'
import { createPasswordQueue } from '@waymark/service-kit'
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
  it('hashes only a few at a time, and keeps one for sign-ins', async () => {
    const { inFlight, hash } = createWork()
    const passwords = createPasswords({ queue: createPasswordQueue(), hash })
    const bulk = Array.from({ length: 50 }, (_, n) =>
      runAsWork({ tenantId: `t${n}`, projectId: '' }, async () => {
        chargeWork({ tenantId: `t${n}`, projectId: 'p' }, 'general')
        return passwords.hash('x')
      }),
    )
    await settle()
    expect(inFlight).toHaveLength(1)
    const signIns = ['10.0.0.1', '10.0.0.2'].map((tenantId) =>
      runAsWork({ tenantId, projectId: '' }, () => passwords.hash('x')),
    )
    await settle()
    expect(inFlight).toHaveLength(2)
    inFlight.pop()?.()
    expect(await signIns[0]).toBe('hash')
    for (let done = 1; done < 52; done++) {
      await settle()
      expect(inFlight.length).toBeLessThanOrEqual(2)
      inFlight.pop()?.()
    }
    expect(await Promise.all([...bulk, ...signIns])).toHaveLength(52)
  })

  it('refuses requests beyond the queue with a retry time', async () => {
    const { inFlight, hash } = createWork()
    const passwords = createPasswords({ queue: createPasswordQueue(3, 3), hash })
    const hashOnce = () => runAsWork({ tenantId: 'a', projectId: '' }, () => passwords.hash('x'))
    const first = hashOnce()
    await settle()
    const waiting = [hashOnce(), hashOnce(), hashOnce()]
    await expect(hashOnce()).rejects.toMatchObject({
      code: 'rate_limited',
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
    const passwords = createPasswords({ queue: createPasswordQueue(), verify })
    const stored = await createPasswords({ queue: createPasswordQueue() }).hash('a horse, a battery')
    await passwords.verify('x', stored)
    await passwords.verify('x', undefined)
    expect(checked).toEqual(['$argon2id$v=19$m=19456,t=2,p=1', '$argon2id$v=19$m=19456,t=2,p=1'])
  })

  it('refuses common passwords and the address itself', async () => {
    const { requireUncommon } = createPasswords({ queue: createPasswordQueue() })
    const refused = { details: { errors: [{ field: 'password', rule: 'common' }] } }
    await expect(requireUncommon('qwerty123456', 'a@b.example', 'password')).rejects.toMatchObject(refused)
    await expect(requireUncommon('Ada@Shop.example', 'ada@shop.example', 'password')).rejects.toMatchObject(
      refused,
    )
    await expect(requireUncommon('a horse, a battery', 'a@b.example', 'password')).resolves.toBeUndefined()
  })
})
