import { describe, expect, it } from 'vitest'
import { checkSampleRatio } from './sample-ratio.ts'

const group = (people: number[], weights: number[]) => {
  const named = (values: number[]) => new Map(values.map((value, index) => [`v${index}`, value]))
  return { people: named(people), weights: named(weights) }
}

describe('the sample ratio', () => {
  // The values of GrowthBook's tests of checkSrm.
  it.each([
    [[1000, 1200], [0.5, 0.5], 0.000020079],
    [[135, 115], [0.5, 0.5], 0.205903211],
    [[310, 98], [0.75, 0.25], 0.647434186],
    [[500, 500, 600], [0.34, 0.33, 0.33], 0.000592638],
    [[1000, 1200, 900], [0.5, 0.5, 0], 0.000020079],
    [[500, 500], [1, 1], 1],
  ])('of %j by the weights %j has the published p-value', (people, weights, pValue) => {
    expect(checkSampleRatio([group(people, weights)]).pValue).toBeCloseTo(pValue, 9)
  })

  it('adds up groups that were split by other weights', () => {
    expect(checkSampleRatio([group([50, 50], [1, 1]), group([10, 90], [1, 9])])).toEqual({
      expected: { v0: 60, v1: 140 },
      seen: { v0: 60, v1: 140 },
      pValue: 1,
    })
  })

  it('leaves out people with a variant that the split does not have', () => {
    expect(
      checkSampleRatio([
        {
          weights: new Map(Object.entries({ a: 1, b: 1 })),
          people: new Map(Object.entries({ a: 50, b: 50, old: 700 })),
        },
      ]),
    ).toEqual({
      expected: { a: 50, b: 50 },
      seen: { a: 50, b: 50 },
      pValue: 1,
    })
  })

  it.each([
    ['without people', [group([0, 0], [1, 1])]],
    ['with one variant', [group([10], [1])]],
    ['without a split', []],
  ])('has no p-value %s', (_what, groups) => {
    expect(checkSampleRatio(groups).pValue).toBeNull()
  })
})
