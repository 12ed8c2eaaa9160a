import { expect, it } from 'vitest'
import { monthsAround } from './event-partitions.ts'

it('returns the months in UTC, from the previous one, across the turn of the year', () => {
  expect(monthsAround(new Date('2026-11-30T23:59:59.999Z'), 2)).toEqual([
    { name: 'events_2026_10', month: '2026-10-01' },
    { name: 'events_2026_11', month: '2026-11-01' },
    { name: 'events_2026_12', month: '2026-12-01' },
    { name: 'events_2027_01', month: '2027-01-01' },
  ])
})

it('can return only one month and the previous one', () => {
  const names = monthsAround(new Date('2026-01-01T00:00:00Z'), 0).map(({ name }) => name)
  expect(names).toEqual(['events_2025_12', 'events_2026_01'])
})
