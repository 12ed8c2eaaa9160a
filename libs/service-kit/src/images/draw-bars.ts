/// <reference path="./pngjs.d.ts" />
import { PNG } from 'pngjs'

/** Values in order, and the width and height of their picture in pixels. */
export type Bars = { values: readonly number[]; width: number; height: number }

/** A blue with a contrast of at least 3 with white and with black. */
const COLOUR = [66, 133, 244, 255]
/** The part of its place that a bar fills. */
const BAR_SHARE = 0.8

/**
 * Draws one bar for each value as a PNG with a transparent ground, so that it fits light and dark pages. Bars begin at 0,
 * and those of negative values go down. A value other than 0 has at least one pixel.
 */
export const drawBars = ({ values, width, height }: Bars): Buffer => {
  const image = new PNG({ width, height })
  const highest = Math.max(0, ...values)
  const span = highest - Math.min(0, ...values)
  const zero = span === 0 ? height : Math.round((highest / span) * height)
  const slot = width / Math.max(1, values.length)
  for (const [index, value] of values.entries()) {
    if (value === 0) continue
    const length = Math.max(1, Math.round((Math.abs(value) / span) * height))
    const left = Math.floor(index * slot)
    const bar = { left, right: Math.min(width, left + Math.max(1, Math.round(slot * BAR_SHARE))) }
    const [top, bottom] = value > 0 ? [zero - length, zero] : [zero, zero + length]
    fill(image, width, { ...bar, top: Math.max(0, top), bottom: Math.min(height, bottom) })
  }
  return PNG.sync.write(image)
}

type Area = { left: number; right: number; top: number; bottom: number }

const fill = ({ data }: PNG, width: number, { left, right, top, bottom }: Area): void => {
  for (let y = top; y < bottom; y++)
    for (let x = left; x < right; x++) data.set(COLOUR, (y * width + x) * COLOUR.length)
}
