import { type Static, Type } from 'typebox'
import { Id, NullableString } from '../schema-parts.ts'

/** A conversion by one selector. The gateway determines it, and it counts once the event is stored. */
export const ConversionClaim = Type.Object({
  selectorId: Id,
  /** In minor units of the currency. */
  amount: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  currency: NullableString,
  quantity: Type.Unsafe<number | null>({ type: ['number', 'null'] }),
})
export type ConversionClaim = Static<typeof ConversionClaim>

/** Selects the events that are conversions, and the properties of their amount, currency and quantity. */
export type MeteringSelector = {
  id: string
  eventName: string
  /** JsonLogic over `{ event, properties }`. Null matches every event of that name. */
  filter: unknown
  amountProperty: string | null
  currencyProperty: string | null
  quantityProperty: string | null
}
