import { describe, expect, it } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const NOW = Date.parse('2026-02-01T10:00:00.000Z')

describe('Retry-After', () => {
  it.each<[string | undefined, number]>([
    ['30', 30_000],
    [' 0 ', 0],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
    ['Sun, 01 Feb 2026 10:02:00 GMT', 120_000],
    ['Sun, 01 Feb 2026 09:00:00 GMT', 0],
    ['Sun, 32 Feb 2026 10:02:00 GMT', 0],
    ['2026-02-01T10:02:00Z', 0],
    ['1.5', 0],
    ['-30', 0],
    ['0x20', 0],
    ['soon', 0],
    ['', 0],
    [undefined, 0],
  ])('of %j asks to wait %d ms', (header, ms) => expect(retryAfterMs(header, NOW)).toBe(ms))
})
