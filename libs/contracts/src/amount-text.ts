import { minorUnitDigits } from './currency.ts'

/** An amount in minor units of a currency as an exact decimal: 1050 of EUR is `10.50`. */
export const decimalOf = (amount: number, currency: string): string => {
  const digits = minorUnitDigits(currency)
  const sign = amount < 0 ? '-' : ''
  const text = `${Math.abs(amount)}`.padStart(digits + 1, '0')
  return digits === 0 ? `${sign}${text}` : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}

/** An exact decimal from 0 up, such as `10.5`, in minor units of a currency; undefined for any other text. */
export const amountOfDecimal = (text: string, currency: string): number | undefined => {
  const [, whole, decimals = ''] = /^(\d{1,15})(?:\.(\d{1,4}))?$/.exec(text.trim()) ?? []
  const digits = minorUnitDigits(currency)
  if (whole === undefined || decimals.length > digits) return undefined
  const amount = Number(whole + decimals.padEnd(digits, '0'))
  return Number.isSafeInteger(amount) ? amount : undefined
}
