import { expect, it } from 'vitest'
import { adjustByHolm } from './holm.ts'

// The worked example of Holm's method on Wikipedia: 0.01, 0.04, 0.03 and 0.005 at an error rate of 0.05.
it('rejects the first and the last of the published example', () => {
  const adjusted = adjustByHolm([0.01, 0.04, 0.03, 0.005])
  expect(adjusted.map((pValue) => Number(pValue?.toFixed(6)))).toEqual([0.03, 0.06, 0.06, 0.02])
  expect(adjusted.map((pValue) => (pValue ?? 1) < 0.05)).toEqual([true, false, false, true])
})

it('leaves one p-value as it is, stays at most 1 and skips null', () => {
  expect(adjustByHolm([0.04])).toEqual([0.04])
  expect(adjustByHolm([null, 0.6, null, 0.7])).toEqual([null, 1, null, 1])
  expect(adjustByHolm([])).toEqual([])
})
