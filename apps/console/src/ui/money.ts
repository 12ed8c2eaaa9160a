import { minorUnitDigits } from '@waymark/contracts/currency'
import { formatCompact, formatNumber } from './format.tsx'

const unitsPerMajor = (currency: string): number => 10 ** minorUnitDigits(currency)

/** An amount in minor units of a currency, with as many decimals as ISO 4217 gives it. */
export const formatMoney = (amount: number, currency: string): string => {
  const digits = minorUnitDigits(currency)
  const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return formatted(amount, currency, decimals) ?? `${formatNumber(amount)} ${currency}`
}

/** A short form of an amount in minor units of a currency, such as "€1.2K", for an axis. */
export const formatCompactMoney = (amount: number, currency: string): string =>
  formatted(amount, currency, { notation: 'compact', maximumFractionDigits: 1 }) ??
  `${formatCompact(amount)} ${currency}`

/** Undefined for text that is no currency code. */
const formatted = (
  amount: number,
  currency: string,
  options: Intl.NumberFormatOptions,
): string | undefined => {
  try {
    const format = new Intl.NumberFormat(undefined, { style: 'currency', currency, ...options })
    return format.format(amount / unitsPerMajor(currency))
  } catch {
    return undefined
  }
}

/** An amount that was entered, in minor units of a currency; undefined when the field is empty. */
export const minorUnitsOf = (text: string | undefined, currency: string): number | undefined =>
  text === undefined || text.trim() === '' ? undefined : Math.round(Number(text) * unitsPerMajor(currency))

/** An amount in minor units for a field; empty when there is none. */
export const enteredAmount = (amount: number | undefined, currency: string): string =>
  amount === undefined ? '' : (amount / unitsPerMajor(currency)).toFixed(minorUnitDigits(currency))

/** The step of a field for an amount. */
export const stepOf = (currency: string): number => 1 / unitsPerMajor(currency)
