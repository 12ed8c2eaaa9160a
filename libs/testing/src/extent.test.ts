import { afterEach, expect, it, vi } from 'vitest'
import { extent } from './extent.ts'

afterEach(() => void vi.unstubAllEnvs())

it.each([
  ['whole', 2],
  ['short', 1],
  ['', 1],
  [undefined, 1],
])('gives the long value only for CHAOS=whole: %s', (value, expected) => {
  vi.stubEnv('CHAOS', value)
  expect(extent(1, 2)).toBe(expected)
})
