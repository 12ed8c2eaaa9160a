import { describe, expect, it } from 'vitest'
import { keptSince } from './kept-since.ts'

const at = (time: string) => Date.parse(time)

describe('what a project keeps', () => {
  it.each([
    ['2026-03-10T00:00:00.000Z', '2026-03-09T00:00:00Z'],
    ['2026-03-10T23:59:59.999Z', '2026-03-09T00:00:00Z'],
    ['2026-03-11T00:00:00.000Z', '2026-03-10T00:00:00Z'],
  ])('starts with a whole day: with one day at %s it is %s', (now, since) => {
    expect(keptSince({ retentionDays: 1 }, at(now))).toBe(at(since))
  })

  it('includes everything without a retention', () => {
    expect(keptSince({}, at('2026-03-10T00:00:00Z'))).toBeUndefined()
  })
})
