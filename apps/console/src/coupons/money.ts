import { digitsOf } from '../ui/format.tsx'

/** An amount that was entered, in minor units of a currency; undefined when the field is empty. */
export const minorUnitsOf = (text: string | undefined, currency: string): number | undefined =>
  text === undefined || text.trim() === '' ? undefined : Math.round(Number(text) * 10 ** digitsOf(currency))

/** An amount in minor units for a field; empty when there is none. */
export const enteredAmount = (amount: number | undefined, currency: string): string =>
  amount === undefined ? '' : (amount / 10 ** digitsOf(currency)).toFixed(digitsOf(currency))

/** The step of a field for an amount. */
export const stepOf = (currency: string): number => 10 ** -digitsOf(currency)
