import { describe, expect, it } from 'vitest'
import { xRange } from './plot-range.ts'

describe('xRange', () => {
  it('spans the values', () => {
    expect(xRange(0, 7, false)).toEqual([0, 7])
    expect(xRange(1_795_651_200, 1_795_737_600, true)).toEqual([1_795_651_200, 1_795_737_600])
  })

  it('shows a single value in the middle', () => {
    expect(xRange(3, 3, false)).toEqual([2, 4])
    const day = Date.parse('2026-11-26T00:00:00Z') / 1_000
    const range = xRange(day, day, true).map((seconds) => new Date(seconds * 1_000).toISOString())
    expect(range).toEqual(['2026-11-19T00:00:00.000Z', '2026-12-03T00:00:00.000Z'])
  })
})
