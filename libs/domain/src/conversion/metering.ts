import { type AcceptedEvent, AppError, type ConversionClaim, type MeteringSelector } from '@waymark/contracts'
import { LogicEngine } from 'json-logic-engine'
import { isDeeperThan } from '../ingestion/json-depth.ts'
import { isHeavierThan, weightOf } from '../ingestion/value-weight.ts'

const MAX_FILTER_BYTES = 8 * 1024
const MAX_FILTER_DEPTH = 20
/** Parts of the logic times values of the data, where it goes through lists: each pair may cost a step. */
const MAX_STEPS = 1_000_000
/** Operations that go through a list: one within another multiplies the work. */
const ITERATING = new Set(['map', 'filter', 'reduce', 'all', 'none', 'some', 'every'])
const CURRENCY = /^[A-Z]{3}$/

/** A selector with its filter compiled. */
export type CompiledSelector = { selector: MeteringSelector; matches: (event: AcceptedEvent) => boolean }

const engine = new LogicEngine(undefined, { maxArrayLength: 10_000, maxStringLength: 100_000 })

/** Compiles a selector's filter, once per version of it. @throws Error when the filter is no JsonLogic */
export const compileSelector = (selector: MeteringSelector): CompiledSelector => ({
  selector,
  matches: compileFilter(selector.filter),
})

/** Compiles a filter over `{ event, properties }`; null lets every event pass. @throws Error when it is no JsonLogic */
export const compileFilter = (filter: unknown): ((event: AcceptedEvent) => boolean) => {
  if (filter === null) return () => true
  const holds = compileLogic(filter)
  return (event) => holds({ event, properties: event.properties })
}

/**
 * Compiles JsonLogic to whether it holds for data; what goes through lists does not hold for very much of it.
 * @throws Error when it is no JsonLogic
 */
export const compileLogic = (logic: unknown): ((data: unknown) => boolean) => {
  const run = engine.build(logic) as (data: unknown) => unknown
  const maxWeight = iterationDepth(logic) > 0 ? MAX_STEPS / weightOf(logic) : Number.POSITIVE_INFINITY
  return (data) => {
    if (maxWeight < Number.POSITIVE_INFINITY && isHeavierThan(data, maxWeight)) return false
    try {
      return Boolean(engine.truthy(run(data)))
    } catch {
      // What stumbles over data does not hold for it.
      return false
    }
  }
}

/**
 * Checks that a filter may be saved; `field` is where it is in the request.
 * @throws AppError unprocessable when it is no JsonLogic, too large or deep, or goes through lists within lists
 */
export const requireUsableFilter = (filter: unknown, field = 'filter'): void => {
  const refuse = (message: string): never => {
    throw new AppError('unprocessable', 'The filter cannot be used', {
      errors: [{ field, rule: 'json_logic', message }],
    })
  }
  if (isDeeperThan(filter, MAX_FILTER_DEPTH)) refuse(`is nested deeper than ${MAX_FILTER_DEPTH} levels`)
  if (Buffer.byteLength(JSON.stringify(filter)) > MAX_FILTER_BYTES)
    refuse(`is larger than ${MAX_FILTER_BYTES} bytes`)
  if (iterationDepth(filter) > 1) refuse('goes through a list within going through a list')
  try {
    engine.build(filter)
  } catch (error) {
    refuse(`is not JsonLogic: ${(error as Error).message ?? error}`.slice(0, 300))
  }
}

const iterationDepth = (logic: unknown): number => {
  if (typeof logic !== 'object' || logic === null) return 0
  return Math.max(
    0,
    ...Object.entries(logic).map(
      ([name, part]) => iterationDepth(part) + (!Array.isArray(logic) && ITERATING.has(name) ? 1 : 0),
    ),
  )
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
