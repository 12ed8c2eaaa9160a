import { MAX_FILTER_VALUES } from '@waymark/contracts/http/analytics-parts'
import { describe, expect, it } from 'vitest'
import { type FilterRequest, fulfils, parseFilter } from './event-filter.ts'

const outcome = (value: unknown, request: Omit<FilterRequest, 'property'>): boolean => {
  const filter = parseFilter({ property: 'properties.p', ...request })
  if ('message' in filter) throw new Error(filter.message)
  return fulfils(value, filter)
}

describe('a filter', () => {
  it.each([
    ['a', 'eq', 'a', true],
    [4, 'eq', '4', false],
    ['4', 'eq', 4, false],
    [true, 'eq', true, true],
    [undefined, 'eq', 'a', false],
    [undefined, 'neq', 'a', true],
    ['a', 'in', ['a', 4], true],
    [4, 'not_in', ['a', 4], false],
    [undefined, 'not_in', ['a'], true],
    [5, 'gt', 4, true],
    ['5', 'gt', 4, false],
    ['b', 'gte', 'b', true],
    [4, 'lt', 4, false],
    [4, 'lte', 4, true],
    ['shoes', 'contains', 'hoe', true],
    [404, 'contains', '4', false],
    ['shoes', 'starts_with', 'sho', true],
    [null, 'exists', undefined, false],
    [0, 'exists', undefined, true],
    [undefined, 'not_exists', undefined, true],
  ] as const)('%j %s %j is %s', (value, op, wanted, expected) => {
    expect(outcome(value, { op, ...(wanted !== undefined && { value: wanted }) })).toBe(expected)
  })

  it.each([
    [{ property: 'price', op: 'eq', value: 1 }, 'property'],
    [{ property: 'properties.p', op: 'eq' }, 'value'],
    [{ property: 'properties.p', op: 'eq', value: ['a'] }, 'value'],
    [{ property: 'properties.p', op: 'in', value: 'a' }, 'value'],
    [{ property: 'properties.p', op: 'in', value: [] }, 'value'],
    [{ property: 'properties.p', op: 'gt', value: true }, 'value'],
    [{ property: 'properties.p', op: 'contains', value: 4 }, 'value'],
    [{ property: 'properties.p', op: 'contains', value: '' }, 'value'],
    [{ property: 'properties.p', op: 'exists', value: 1 }, 'value'],
  ] as const)('%j is refused because of its %s', (request, field) => {
    expect(parseFilter(request)).toMatchObject({ field })
  })

  it(`compares with up to ${MAX_FILTER_VALUES} values`, () => {
    const filterBy = (count: number) =>
      parseFilter({ property: 'properties.p', op: 'in', value: Array.from({ length: count }, (_, n) => n) })
    expect(filterBy(MAX_FILTER_VALUES)).toMatchObject({ test: 'in' })
    expect(filterBy(MAX_FILTER_VALUES + 1)).toMatchObject({ field: 'value' })
  })
})
