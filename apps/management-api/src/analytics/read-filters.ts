import { MAX_QUERY_VALUES } from '@waymark/contracts/http/analytics'
import type { FilterRequest } from '@waymark/contracts/http/analytics-parts'
import { eventFilters } from '@waymark/contracts/http/events'
import { requireValid } from '@waymark/contracts/require-valid'
import {
  type EventFilter,
  PROPERTY_NAMES,
  type PropertyRef,
  parseFilter,
  parsePropertyName,
} from '@waymark/domain/analytics'
import { invalid, unprocessable } from '../http/validation.ts'

/** Reads a property name. @throws AppError unprocessable when it names nothing that an event has */
export const readProperty = (field: string, name: string): PropertyRef => {
  const property = parsePropertyName(name)
  if (property) return property
  throw unprocessable(field, 'property', `must be one of ${PROPERTY_NAMES}`, name)
}

/** Reads the filters below `field`. @throws AppError unprocessable that names what is wrong with one */
export const readFilters = (field: string, filters: readonly FilterRequest[] = []): EventFilter[] =>
  filters.map((request, index) => readFilter(`${field}.${index}`, request))

/** Reads the filter at `field`. @throws AppError unprocessable that names what is wrong with it */
export const readFilter = (field: string, request: FilterRequest): EventFilter => {
  const filter = parseFilter(request)
  if (!('message' in filter)) return filter
  throw unprocessable(`${field}.${filter.field}`, 'filter', filter.message, request[filter.field])
}

/** Reads `filters` of a query string, a JSON list. @throws AppError unprocessable that names what is wrong with it */
export const readFiltersOfQuery = (text: string): EventFilter[] => {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    throw unprocessable('filters', 'json', 'must be a JSON list of filters', text)
  }
  const below = (field: string): string => (field === '' ? 'filters' : `filters.${field}`)
  const requests = requireValid(eventFilters, list, (problem) =>
    invalid([{ ...problem, field: below(problem.field) }]),
  )
  return readFilters('filters', requests)
}

/** @throws AppError unprocessable when all filters together compare with too many values */
export const requireFewValues = (
  field: string,
  filters: readonly (readonly FilterRequest[] | undefined)[],
): void => {
  const values = filters.flatMap((own = []) => own.flatMap(({ value }) => value ?? []))
  if (values.length <= MAX_QUERY_VALUES) return
  throw unprocessable(
    field,
    'max_values',
    `may compare with at most ${MAX_QUERY_VALUES} values in all filters together; got ${values.length}`,
  )
}
