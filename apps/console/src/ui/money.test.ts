import { describe, expect, it } from 'vitest'
import { enteredAmount, formatCompactMoney, formatMoney, minorUnitsOf, stepOf } from './money.ts'

// CLDR, and so `Intl`, has no decimals for HUF, IDR, COP and others, which ISO 4217 gives two.
const AMOUNTS: [currency: string, amount: number, digits: string, step: number][] = [
  ['EUR', 199_000, '1990.00', 0.01],
  ['HUF', 199_000, '1990.00', 0.01],
  ['IDR', 199_000, '1990.00', 0.01],
  ['MGA', 199_000, '1990.00', 0.01],
  ['MRU', 199_000, '1990.00', 0.01],
  ['ISK', 1990, '1990', 1],
  ['JPY', 1990, '1990', 1],
  ['IQD', 1_990_000, '1990.000', 0.001],
  ['CLF', 19_900_000, '1990.0000', 0.0001],
]

describe('amounts in minor units', () => {
  it.each(AMOUNTS)('of %s are shown and entered as ISO 4217 counts them', (currency, amount, text, step) => {
    expect(formatMoney(amount, currency).replace(/[^\d.]/g, '')).toBe(text)
    expect(enteredAmount(amount, currency)).toBe(text)
    expect(minorUnitsOf('1990', currency)).toBe(amount)
    expect(stepOf(currency)).toBe(step)
    expect(formatCompactMoney(amount, currency).replace(/[^\d.]/g, '')).toMatch(/^2$|^1\.99$|^2\.0$/)
  })

  it('are kept with their code where it is not known', () => {
    expect(formatMoney(1234, 'EURO')).toBe('1,234 EURO')
    expect(formatCompactMoney(1234, 'EURO')).toBe('1.2K EURO')
  })

  it.each(['19.99', '4.35', '0.07', '1.10', '90071992547409.91'])('of %s euros are exact', (text) => {
    expect(minorUnitsOf(text, 'EUR')).toBe(Number(text.replace('.', '')))
  })

  it('are missing where nothing was entered', () => {
    expect(minorUnitsOf(' ', 'EUR')).toBeUndefined()
    expect(enteredAmount(undefined, 'EUR')).toBe('')
  })
})
