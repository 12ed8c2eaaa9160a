import fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { compileQueryValidator } from './validator.ts'

const validator = compileQueryValidator(
  Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
    bots: Type.Optional(Type.Boolean()),
    name: Type.Optional(Type.String()),
  }),
)

const read = (query: Record<string, unknown>) => {
  const given = { ...query }
  return validator.fits(given) ? given : validator.check(query)?.field
}

describe('a query string', () => {
  it('gets its defaults', () => {
    expect(read({})).toEqual({ limit: 50 })
  })

  it('is converted to the types of its schema', () => {
    expect(read({ limit: '7', bots: 'true', name: '7' })).toEqual({ limit: 7, bots: true, name: '7' })
  })

  it.each(['0', '501', '', ' 1', '1.5', '1e2', '0x10', 'all'])('refuses the limit %j', (limit) => {
    expect(read({ limit })).toBe('limit')
  })

  it.each(['', 'yes', '1', 'TRUE'])('refuses %j for true or false', (bots) => {
    expect(read({ bots })).toBe('bots')
  })

  it('refuses repeated parameters', () => {
    expect(read({ limit: ['1', '2'] })).toBe('limit')
  })

  it('accepts every number within the bounds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), (limit) => {
        expect(read({ limit: `${limit}` })).toEqual({ limit })
      }),
    )
  })
})
