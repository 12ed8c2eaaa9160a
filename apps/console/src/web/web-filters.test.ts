import { expect, it } from 'vitest'
import { formatFilters, parseFilters, requestFilters, toggleFilter, type WebFilter } from './web-filters.ts'

const german: WebFilter = ['visit.country', 'DE']
const unknown: WebFilter = ['visit.source', null]

it('keeps filters in a URL, and leaves out what is none', () => {
  expect(parseFilters(formatFilters([german, unknown]))).toEqual([german, unknown])
  expect(formatFilters([])).toBe('')
  expect(parseFilters('[["visit.country","DE"],["traits.plan","pro"],["visit.os",1],7]')).toEqual([german])
  expect(parseFilters('{')).toEqual([])
  expect(parseFilters(undefined)).toEqual([])
})

it('has one value of each property, which a second click removes', () => {
  expect(toggleFilter([german], unknown)).toEqual([german, unknown])
  expect(toggleFilter([german, unknown], ['visit.country', 'FR'])).toEqual([unknown, ['visit.country', 'FR']])
  expect(toggleFilter([german, unknown], german)).toEqual([unknown])
})

it('asks for visits without a value where it is unknown', () => {
  expect(requestFilters([german, unknown])).toEqual([
    { property: 'visit.country', op: 'eq', value: 'DE' },
    { property: 'visit.source', op: 'not_exists' },
  ])
})
