import { type FilterOperator, MAX_FILTER_VALUES } from '@waymark/contracts/http/analytics-parts'
import { PROPERTY_NAMES, type PropertyRef, parsePropertyName } from './property.ts'

export type ScalarValue = string | number | boolean

/** A filter in a request. */
export type FilterRequest = {
  readonly property: string
  readonly op: FilterOperator
  readonly value?: ScalarValue | readonly ScalarValue[] | undefined
}

/**
 * A condition on one value of an event. Comparisons are typed: a number compares with numbers, a string with strings.
 * A value of another type, or none, fulfils no condition but a negated one.
 */
export type EventFilter = { readonly property: PropertyRef; readonly negated: boolean } & (
  | { readonly test: 'exists' }
  | { readonly test: 'in'; readonly values: readonly ScalarValue[] }
  | { readonly test: Ordering; readonly value: string | number }
  | { readonly test: 'contains' | 'starts_with'; readonly value: string }
)
export type Ordering = 'gt' | 'gte' | 'lt' | 'lte'

/** What is wrong with a filter: the member, and a predicate of it such as `must be a list`. */
type FilterProblem = { readonly field: 'property' | 'value'; readonly message: string }

/** Parses a filter, or returns what is wrong with it. */
export const parseFilter = ({ property: name, op, value }: FilterRequest): EventFilter | FilterProblem => {
  const property = parsePropertyName(name)
  if (!property) return { field: 'property', message: `must be one of ${PROPERTY_NAMES}` }
  const wrongValue = (message: string): FilterProblem => ({ field: 'value', message })
  switch (op) {
    case 'exists':
    case 'not_exists':
      if (value !== undefined) return wrongValue(`is not used with ${op}`)
      return { property, negated: op === 'not_exists', test: 'exists' }
    case 'eq':
    case 'neq':
      if (value === undefined || typeof value === 'object')
        return wrongValue(`must be a string, number or boolean with ${op}`)
      return { property, negated: op === 'neq', test: 'in', values: [value] }
    case 'in':
    case 'not_in':
      if (typeof value !== 'object' || value.length === 0 || value.length > MAX_FILTER_VALUES)
        return wrongValue(`must be a list of 1 to ${MAX_FILTER_VALUES} values with ${op}`)
      return { property, negated: op === 'not_in', test: 'in', values: value }
    case 'contains':
    case 'starts_with':
      if (typeof value !== 'string' || value === '')
        return wrongValue(`must be a non-empty string with ${op}`)
      return { property, negated: false, test: op, value }
    default:
      if (typeof value !== 'string' && typeof value !== 'number')
        return wrongValue(`must be a number or a string with ${op}`)
      return { property, negated: false, test: op, value }
  }
}

/** Whether an event's value (`undefined` and `null` are none) fulfils a filter. */
export const fulfils = (value: unknown, filter: EventFilter): boolean =>
  passes(value ?? undefined, filter) !== filter.negated

const passes = (value: unknown, filter: EventFilter): boolean => {
  switch (filter.test) {
    case 'exists':
      return value !== undefined
    case 'in':
      return filter.values.some((wanted) => wanted === value)
    case 'contains':
      return typeof value === 'string' && value.includes(filter.value)
    case 'starts_with':
      return typeof value === 'string' && value.startsWith(filter.value)
    default:
      return (
        typeof value === typeof filter.value && compare(filter.test, value as string, filter.value as string)
      )
  }
}

const compare = <T extends string | number>(test: Ordering, a: T, b: T): boolean => {
  const order =
    typeof a === 'string' && typeof b === 'string' ? compareBytes(a, b) : a < b ? -1 : a > b ? 1 : 0
  if (test === 'gt') return order > 0
  if (test === 'gte') return order >= 0
  return test === 'lt' ? order < 0 : order <= 0
}

/** By UTF-8 bytes, as the stores compare. */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
