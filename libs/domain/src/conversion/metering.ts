import type { AcceptedEvent, ConversionClaim, MeteringSelector } from '@waymark/contracts'
import { weightOf } from '../ingestion/value-weight.ts'
import { compileLogic, MAX_STEPS } from '../logic/compile-logic.ts'

const CURRENCY = /^[A-Z]{3}$/

/** A selector with its filter compiled. */
export type CompiledSelector = { selector: MeteringSelector; matches: (event: AcceptedEvent) => boolean }

/** Compiles a selector's filter, once per version of it. @throws Error when the filter is no JsonLogic */
export const compileSelector = (selector: MeteringSelector): CompiledSelector => ({
  selector,
  matches: compileFilter(selector.filter),
})

/**
 * Compiles a filter over `{ event, properties }`; null lets every event pass. What would go through very much does not
 * let an event pass.
 * @throws Error when it is no JsonLogic
 */
export const compileFilter = (filter: unknown): ((event: AcceptedEvent) => boolean) => {
  if (filter === null) return () => true
  const { mostSteps, holds } = compileLogic(filter)
  return (event) => {
    const data = { event, properties: event.properties }
    return mostSteps(() => weightOf(data, MAX_STEPS)) <= MAX_STEPS && holds(data)
  }
}

/** The conversions that an event is: one per matching selector. */
export const conversionsOf = (
  event: AcceptedEvent,
  selectors: readonly CompiledSelector[],
): ConversionClaim[] =>
  selectors
    .filter(({ matches }) => matches(event))
    .map(({ selector }) => ({
      selectorId: selector.id,
      amount: integerAt(event.properties, selector.amountProperty),
      currency: currencyAt(event.properties, selector.currencyProperty),
      quantity: numberAt(event.properties, selector.quantityProperty),
    }))

/** The value under a dotted path, such as `order.total`. */
const at = (properties: Record<string, unknown>, path: string | null): unknown =>
  path
    ?.split('.')
    .reduce<unknown>(
      (value, key) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, key)
          ? Reflect.get(value, key)
          : undefined,
      properties,
    )

const numberAt = (properties: Record<string, unknown>, path: string | null): number | null => {
  const value = at(properties, path)
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

const integerAt = (properties: Record<string, unknown>, path: string | null): number | null => {
  const value = numberAt(properties, path)
  return value !== null && Number.isSafeInteger(value) ? value : null
}

const currencyAt = (properties: Record<string, unknown>, path: string | null): string | null => {
  const value = at(properties, path)
  const code = typeof value === 'string' ? value.toUpperCase() : ''
  return CURRENCY.test(code) ? code : null
}
