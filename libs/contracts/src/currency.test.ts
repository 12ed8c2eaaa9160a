import { describe, expect, it } from 'vitest'
import { currencyOf, minorUnitDigits } from './currency.ts'
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

// Amendment 179 of ISO 4217, table A.1, without the codes that have no minor unit (metals, funds of accounts, tests).
const CODES_BY_DIGITS = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY
    COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR
    IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD
    NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP
    SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}
const digitsByCode = Object.entries(CODES_BY_DIGITS).flatMap(([digits, codes]) =>
  codes.split(/\s+/).map((code): [string, number] => [code, Number(digits)]),
)

describe('minorUnitDigits', () => {
  it('has the decimals of every code of ISO 4217', () => {
    expect(digitsByCode.map(([code]) => [code, minorUnitDigits(code)])).toEqual(digitsByCode)
    expect(digitsByCode.filter(([code]) => currencyOf(code) !== code)).toEqual([])
  })

  it.each([
    ['a code in lower case', 'kwd', 3],
    ['a withdrawn code', 'DEM', 2],
    ['other text', 'toString', 2],
    ['nothing', '', 2],
  ])('has decimals for %s', (_, text, digits) => {
    expect(minorUnitDigits(text)).toBe(digits)
  })
})
