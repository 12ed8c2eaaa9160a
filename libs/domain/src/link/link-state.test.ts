import { expect, it } from 'vitest'
import { linkStateAt } from './link-state.ts'

const link = { status: 'active', startsAt: 10, expiresAt: 20 } as const

it.each([
  [9, 'not_started'],
  [10, 'open'],
  [19, 'open'],
  [20, 'expired'],
])('at %d it is %s', (at, state) => {
  expect(linkStateAt(link, at)).toBe(state)
})

it('is the stored status at any time', () => {
  for (const status of ['paused', 'archived'] as const)
    for (const at of [5, 15, 25]) expect(linkStateAt({ ...link, status }, at)).toBe(status)
  expect(linkStateAt({ status: 'active', startsAt: null, expiresAt: null }, 0)).toBe('open')
})
