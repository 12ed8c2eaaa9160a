import { DEFAULT_ALPHABET } from '@waymark/domain/coupon'
import { describe, expect, it } from 'vitest'
import { newPoolValues } from './coupon-pool-values.ts'

describe('the values of a new pool', () => {
  const pool = { name: 'Spring', kind: 'unique' as const, discount: { type: 'percent' as const, value: 10 } }

  it('have the alphabet in upper case', () => {
    const { pool: values } = newPoolValues({ ...pool, alphabet: DEFAULT_ALPHABET.toLowerCase() })
    expect(values.alphabet).toBe(DEFAULT_ALPHABET)
  })

  it('of an automatic one are ready without codes', () => {
    const automatic = { ...pool, kind: 'automatic' as const, priority: 5 }
    expect(newPoolValues(automatic)).toMatchObject({
      pool: { kind: 'automatic', status: 'ready', size: 0, priority: 5 },
      code: null,
    })
    expect(() => newPoolValues({ ...automatic, size: 1 })).toThrow()
    expect(() => newPoolValues({ ...automatic, code: 'ALL' })).toThrow()
  })
})
