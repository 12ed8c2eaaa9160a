import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attributeTo, type LinkTouch, MAX_LINK_TOUCHES, mergeLinkTouches } from './link-touch.ts'

const touchAt = (day: number, clickId: string | null = null): LinkTouch => ({
  at: new Date(Date.UTC(2026, 0, 1 + day)).toISOString(),
  linkId: `link-${day}`,
  code: 'code',
  campaign: null,
  clickId,
  eventId: `event-${day}`,
})
const days = (touches: readonly LinkTouch[]) => touches.map(({ linkId }) => Number(linkId.slice(5)))

describe('mergeLinkTouches', () => {
  const touches = fc
    .array(fc.nat(60), { maxLength: 40 })
    .map((all) =>
      all
        .map((day) => touchAt(day))
        .reduce<readonly LinkTouch[]>((known, one) => mergeLinkTouches(known, [one]), []),
    )

  it('is commutative, associative and idempotent, and keeps the latest', () => {
    fc.assert(
      fc.property(touches, touches, touches, (a, b, c) => {
        expect(mergeLinkTouches(a, b)).toEqual(mergeLinkTouches(b, a))
        expect(mergeLinkTouches(mergeLinkTouches(a, b), c)).toEqual(
          mergeLinkTouches(a, mergeLinkTouches(b, c)),
        )
        expect(mergeLinkTouches(a, a)).toBe(a)
        const latest = [...new Set([...days(a), ...days(b)])].sort((x, y) => x - y).slice(-MAX_LINK_TOUCHES)
        expect(days(mergeLinkTouches(a, b))).toEqual(latest)
      }),
    )
  })

  it('counts a click once that several pages report', () => {
    const pages = [1, 1, 1].map((day, page) => ({ ...touchAt(day, 'click'), eventId: `page-${page}` }))
    const merged = pages.reduce<readonly LinkTouch[]>((known, one) => mergeLinkTouches(known, [one]), [])
    expect(merged).toEqual([pages[0]])
  })
})

describe('attributeTo', () => {
  const at = touchAt(40).at
  const attributed = (touchedOn: number[], windowDays?: number) => {
    const { first, last } = attributeTo(
      touchedOn.map((day) => touchAt(day)),
      at,
      windowDays,
    )
    return [first && days([first])[0], last && days([last])[0]]
  }

  it.each([
    ['nothing', [], undefined, [null, null]],
    ['one for both', [20], undefined, [20, 20]],
    ['the first and the last', [15, 20, 30], undefined, [15, 30]],
    ['a touch on the last day of the window', [10], undefined, [10, 10]],
    ['none of the day before', [9], undefined, [null, null]],
    ['the first within the window', [9, 20, 30], undefined, [20, 30]],
    ['nothing that comes later', [41], undefined, [null, null]],
    ['by a window of its own', [20, 35], 7, [35, 35]],
  ] as const)('finds %s', (_what, touchedOn, windowDays, expected) => {
    expect(attributed([...touchedOn], windowDays)).toEqual(expected)
  })
})
