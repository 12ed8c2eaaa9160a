import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { withinOneDay } from './within-one-day.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-05-01T23:59:59Z') })
})
afterEach(() => {
  vi.useRealTimers()
})

it('repeats work during which the day changes, also when it fails', async () => {
  const days: number[] = []
  const result = await withinOneDay(async () => {
    days.push(new Date().getUTCDate())
    if (days.length === 3) return 'done'
    vi.advanceTimersByTime(24 * 3_600_000)
    if (days.length === 1) throw new Error('counted on two days')
    return 'counted on two days'
  })
  expect([result, days]).toEqual(['done', [1, 2, 3]])
})

it('throws the error of work on one day', async () => {
  await expect(withinOneDay(() => Promise.reject(new Error('wrong')))).rejects.toThrow('wrong')
})
