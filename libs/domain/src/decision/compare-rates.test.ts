import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareRates, rateOf } from './compare-rates.ts'

describe('a rate', () => {
  // Newcombe (1998), table I: Wilson score intervals without continuity correction.
  it.each([
    [{ converted: 81, people: 263 }, [0.2553, 0.3662]],
    [{ converted: 15, people: 148 }, [0.0624, 0.1605]],
    [{ converted: 0, people: 20 }, [0, 0.1611]],
    [{ converted: 1, people: 29 }, [0.0061, 0.1718]],
  ])('of %j has the published interval', (group, [low = 0, high = 0]) => {
    const { rateInterval } = rateOf(group)
    expect(rateInterval?.[0]).toBeCloseTo(low, 4)
    expect(rateInterval?.[1]).toBeCloseTo(high, 4)
  })

  it('of nobody and of everybody ends exactly at 0 and 1', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (people) => {
        expect(rateOf({ people, converted: 0 }).rateInterval?.[0]).toBe(0)
        expect(rateOf({ people, converted: people }).rateInterval?.[1]).toBe(1)
      }),
    )
  })

  it('is unknown without people', () => {
    expect(rateOf({ people: 0, converted: 0 })).toEqual({ rate: null, rateInterval: null })
  })
})

describe('a comparison', () => {
  // Newcombe (1998), "Interval estimation for the difference between independent proportions", table II, method 10.
  it.each([
    [{ converted: 56, people: 70 }, { converted: 48, people: 80 }, [0.0524, 0.3339]],
    [{ converted: 9, people: 10 }, { converted: 3, people: 10 }, [0.1705, 0.809]],
    [{ converted: 5, people: 56 }, { converted: 0, people: 29 }, [-0.0381, 0.1926]],
    [{ converted: 10, people: 10 }, { converted: 0, people: 20 }, [0.6791, 1]],
  ])('of %j with %j has the published interval', (group, control, [low = 0, high = 0]) => {
    const { differenceInterval } = compareRates(group, control)
    expect(differenceInterval?.[0]).toBeCloseTo(low, 4)
    expect(differenceInterval?.[1]).toBeCloseTo(high, 4)
  })

  // z is 1.4293, 2.7978 and 0 by the textbook's formula; the p-values are erfc(z / √2) of Python's math module.
  it.each([
    [{ converted: 120, people: 1000 }, { converted: 100, people: 1000 }, 0.1529],
    [{ converted: 200, people: 2000 }, { converted: 150, people: 2000 }, 0.005145],
    [{ converted: 10, people: 100 }, { converted: 10, people: 100 }, 1],
  ])('of %j with %j has the p-value %d', (group, control, pValue) => {
    expect(compareRates(group, control).pValue).toBeCloseTo(pValue, 4)
  })

  it('returns how much higher the rate is', () => {
    const { lift, difference } = compareRates({ converted: 15, people: 100 }, { converted: 10, people: 100 })
    expect(lift).toBeCloseTo(0.5, 10)
    expect(difference).toBeCloseTo(0.05, 10)
  })

  it('is null where there is nothing to compare', () => {
    const nothing = { lift: null, difference: null, differenceInterval: null, pValue: null }
    expect(compareRates({ people: 0, converted: 0 }, { people: 5, converted: 1 })).toEqual(nothing)
    expect(compareRates({ people: 5, converted: 1 }, { people: 0, converted: 0 })).toEqual(nothing)
    const noneConverted = compareRates({ people: 5, converted: 0 }, { people: 5, converted: 0 })
    expect(noneConverted).toMatchObject({ lift: null, difference: 0, pValue: null })
  })
})
