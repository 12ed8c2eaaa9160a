import { describe, expect, it } from 'vitest'
import { currencyOf } from './currency.ts'
import { compileValidator } from './validator.ts'

describe('currencyOf', () => {
  it.each(['EUR', 'USD', 'JPY', 'CHF', 'XCG', 'ZWG', 'SLE', 'CLF', 'XAF'])('accepts %s', (code) => {
    expect(currencyOf(code)).toBe(code)
  })

  it.each(['eur', 'Eur', 'eUR'])('accepts %s as EUR', (text) => {
    expect(currencyOf(text)).toBe('EUR')
  })

  it.each([
    '',
    'EU',
    'EURO',
    'ABC',
    'DEM',
    'HRK',
    'XXX',
    'XTS',
    '978',
    'dem',
    'toString',
    ' EUR',
    'EUR ',
    '\u0131ls',
  ])('refuses %j', (code) => {
    expect(currencyOf(code)).toBeUndefined()
  })

  it('is the format "currency" of schemas', () => {
    const schema = compileValidator({ type: 'string', format: 'currency' })
    expect(schema.fits('EUR')).toBe(true)
    expect(schema.fits('eur')).toBe(true)
    expect(schema.check('ABC')).toEqual({
      field: '',
      rule: 'format',
      message: 'must be an ISO 4217 currency code such as EUR; got "ABC"',
    })
  })
})
