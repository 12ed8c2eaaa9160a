/// <reference path="./pngjs.d.ts" />
import { PNG } from 'pngjs'
import { describe, expect, it } from 'vitest'
import { drawBars } from './draw-bars.ts'

/** The picture as lines: `#` is the one colour, a space is transparent. */
const linesOf = (values: readonly number[], width: number, height: number): string[] => {
  const { data } = PNG.sync.read(drawBars({ values, width, height }))
  const pixels = Array.from({ length: width * height }, (_, index) => {
    const pixel = [...data.subarray(index * 4, index * 4 + 4)].join()
    return pixel === '66,133,244,255' ? '#' : pixel === '0,0,0,0' ? ' ' : '?'
  })
  return Array.from({ length: height }, (_, y) => pixels.slice(y * width, (y + 1) * width).join(''))
}

describe('drawBars', () => {
  it('draws one bar for each value in one colour, at least a pixel high, on a transparent ground', () => {
    expect(linesOf([4, 0, 2, 0.01], 20, 4)).toEqual([
      '####                ',
      '####                ',
      '####      ####      ',
      '####      #### #### ',
    ])
  })

  it('draws negative values downwards from 0', () => {
    expect(linesOf([1, -1], 10, 4)).toEqual(['####      ', '####      ', '     #### ', '     #### '])
  })

  it.each([[[]], [[0, 0]]])('draws nothing for %j', (values) => {
    expect(linesOf(values, 3, 1)).toEqual(['   '])
  })

  it('keeps bars within the picture, also when they are more than its pixels', () => {
    const values = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? 1 : -1))
    expect(linesOf(values, 7, 2)).toEqual(['#######', '#######'])
  })
})
