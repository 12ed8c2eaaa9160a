import { describe, expect, it } from 'vitest'
import { meanRates, retentionRates } from './retention-rates.ts'

const cohorts = [
  { at: '2026-01-01T00:00:00.000Z', size: 4, returned: [4, 2, 1] },
  { at: '2026-01-02T00:00:00.000Z', size: 0, returned: [0, 0, 0] },
  { at: '2026-01-03T00:00:00.000Z', size: 1, returned: [1, 0, 0] },
]

describe('the rates of retention', () => {
  const shown = retentionRates(cohorts, 'day', Date.parse('2026-01-04T12:00:00Z'))

  it('are shares of each non-empty cohort, without future periods', () => {
    expect(shown.map(({ rates }) => rates)).toEqual([
      [1, 0.5, 0.25],
      [1, 0, null],
    ])
  })

  it('are weighted by people, over the cohorts that have reached the period', () => {
    expect(meanRates(shown)).toEqual([1, 0.4, 0.25])
    expect(meanRates([])).toEqual([])
  })
})
