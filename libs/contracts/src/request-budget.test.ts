import { expect, it } from 'vitest'
import * as budget from './request-budget.ts'

it('leaves time for an answer within 5 s after each wait of a request', () => {
  const { REQUEST_DEADLINE_MS, LONG_REQUEST_DEADLINE_MS, ...waits } = budget
  expect(REQUEST_DEADLINE_MS).toBeLessThan(5_000)
  expect(LONG_REQUEST_DEADLINE_MS).toBeGreaterThan(REQUEST_DEADLINE_MS)
  for (const [name, ms] of Object.entries(waits)) expect(ms, name).toBeLessThan(REQUEST_DEADLINE_MS)
})
