import { type Static, Type } from 'typebox'
import { Id, NullableString } from '../schema-parts.ts'

/** That an event is a conversion by one selector; decided by the gateway, true once the event is stored. */
export const ConversionClaim = Type.Object({
  selectorId: Id,
  /** In minor units of the currency. */
  amount: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  currency: NullableString,
  quantity: Type.Unsafe<number | null>({ type: ['number', 'null'] }),
})
export type ConversionClaim = Static<typeof ConversionClaim>

/** Says which events are conversions, and where in their properties amount, currency and quantity are. */
export type MeteringSelector = {
  id: string
  eventName: string
  /** JsonLogic over `{ event, properties }`; null takes every event of that name. */
  filter: unknown
  amountProperty: string | null
  currencyProperty: string | null
  quantityProperty: string | null
}
