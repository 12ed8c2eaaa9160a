import { expect, it } from 'vitest'
import { personChangesMs } from './message-route.ts'

it.each([
  [0, 0],
  [1, 5],
  [900, 4_500],
  [901, 4_500],
  [20_000, 4_500],
])('%i changes of people extend the deadline by %i ms', (count, ms) => {
  expect(personChangesMs(count)).toBe(ms)
})
