import { currencyOf } from '@waymark/contracts/currency'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { CompleteEvent } from '@waymark/contracts/records/enriched-event'
import type {
  AcceptedEvent,
  ConversionClaim,
  MeteringSelector,
} from '@waymark/contracts/records/ingest-record'
import { completeEvent } from '../ingestion/ingest-record.ts'
import { compileLogic, type Evaluation, type LogicData, logicData } from '../logic/compile-logic.ts'
import { WorkBudget } from '../logic/work-budget.ts'

/** Maximum characters of a value in a warning. */
const MAX_SHOWN_LENGTH = 64

/** A compiled filter. */
export type EventFilter = (event: FilteredEvent, budget: WorkBudget) => Evaluation
/** The data of an event for filters. */
type FilteredEvent = LogicData

export const filteredEvent = (event: CompleteEvent): FilteredEvent =>
  logicData({ event, properties: event.properties })

/** A selector with its filter compiled. */
export type CompiledSelector = { selector: MeteringSelector; matches: EventFilter }

/** Compiles the filter of a selector. @throws Error when it is not valid JsonLogic */
export const compileSelector = (selector: MeteringSelector): CompiledSelector => ({
  selector,
  matches: compileFilter(selector.filter),
})

/**
 * Compiles a filter over `{ event, properties }`. Null matches every event.
 * @throws Error when it is not valid JsonLogic
 */
export const compileFilter = (filter: unknown): EventFilter =>
  filter === null ? () => 'holds' : compileLogic(filter).evaluate

/** The conversions of an event, one per matching selector, and warnings about invalid values. */
type Metered = { conversions: ConversionClaim[]; warnings: ValidationItem[] }

/**
 * Finds the conversions of an event. A missing or null value is not a warning, except for the currency of an amount. A
 * filter that exceeds the budget does not match, and is a warning.
 */
export const meterEvent = (
  event: AcceptedEvent,
  selectors: readonly CompiledSelector[],
  budget = new WorkBudget(),
): Metered => {
  if (selectors.length === 0) return NOT_METERED
  const warnings: ValidationItem[] = []
  const filtered = filteredEvent(completeEvent(event))
  const answers = selectors.map(({ matches }) => matches(filtered, budget))
  const conversions = selectors
    .filter((_, index) => answers[index] === 'holds')
    .map(({ selector }) => {
      const claim = {
        selectorId: selector.id,
        amount: read(amount, event.properties, selector.amountProperty, warnings),
        currency: read(currency, event.properties, selector.currencyProperty, warnings),
        quantity: read(quantity, event.properties, selector.quantityProperty, warnings),
      }
      if (claim.amount !== null && claim.currency === null) warnAboutMissingCurrency(selector, warnings)
      return claim
    })
  const unanswered = selectors.filter((_, index) => answers[index] === 'exceeded')
  if (unanswered.length > 0) warnings.push(budgetWarning(unanswered.map(({ selector }) => selector.id)))
  return { conversions, warnings }
}

const budgetWarning = (selectorIds: readonly string[]): ValidationItem => ({
  field: 'properties',
  rule: 'filter_budget_exceeded',
  actual: selectorIds,
  message: 'is too large for the filters of these metering selectors; no conversion was counted for them',
})

/** The conversions of an event: one per matching selector. */
export const conversionsOf = (
  event: AcceptedEvent,
  selectors: readonly CompiledSelector[],
  budget = new WorkBudget(),
): ConversionClaim[] => meterEvent(event, selectors, budget).conversions

const NOT_METERED: Metered = { conversions: [], warnings: [] }

/** How to read a property of a conversion. */
type Reading<T> = { rule: string; allowed: string; parse: (value: unknown) => T | undefined }

const amount: Reading<number> = {
  rule: 'invalid_amount',
  allowed: 'an integer of minor units from 0 to 9007199254740991',
  parse: (value) => (isNumber(value) && Number.isSafeInteger(value) && value >= 0 ? value : undefined),
}
const currency: Reading<string> = {
  rule: 'invalid_currency',
  allowed: 'an ISO 4217 currency code such as EUR',
  parse: (value) => (typeof value === 'string' ? currencyOf(value) : undefined),
}
const quantity: Reading<number> = {
  rule: 'invalid_quantity',
  allowed: 'a number from 0 to 9007199254740991',
  parse: (value) => (isNumber(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined),
}

const isNumber = (value: unknown): value is number => typeof value === 'number'

/** The value at a path, or null when it is missing or invalid. An invalid one is a warning, once per path and rule. */
const read = <T>(
  { rule, allowed, parse }: Reading<T>,
  properties: Record<string, unknown>,
  path: string | null,
  warnings: ValidationItem[],
): T | null => {
  const value = at(properties, path) ?? null
  if (value === null) return null
  const parsed = parse(value)
  if (parsed !== undefined) return parsed
  const field = `properties.${path}`
  if (!warnings.some((known) => known.field === field && known.rule === rule)) {
    const message = `must be ${allowed}; the conversion is counted without it`
    warnings.push({ field, rule, expected: allowed, actual: shown(value), message })
  }
  return null
}

/** Warns of an amount without a currency, which cannot be summed. An invalid currency has its own warning. */
const warnAboutMissingCurrency = (
  { amountProperty, currencyProperty }: MeteringSelector,
  warnings: ValidationItem[],
): void => {
  if (currencyProperty === null) return
  const field = `properties.${currencyProperty}`
  if (warnings.some((known) => known.field === field)) return
  const message =
    `is missing beside properties.${amountProperty}; send ${currency.allowed}. ` +
    'The conversion is counted with an amount in no currency'
  warnings.push({ field, rule: 'missing_currency', expected: currency.allowed, message })
}

const shown = (value: unknown): unknown => {
  if (typeof value === 'string') return value.slice(0, MAX_SHOWN_LENGTH).toWellFormed()
  if (typeof value !== 'object') return value
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** The value at a dotted path, such as `order.total`. */
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
