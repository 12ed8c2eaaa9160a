import { describe, expect, it } from 'vitest'
import { isHistory } from './segment-messages.ts'

const NOW = Date.parse('2026-11-21T04:00:00Z')
const ago = (ms: number) => new Date(NOW - ms).toISOString()
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

describe('an import', () => {
  it.each([
    ['sent just now', { batch: [{}], sentAt: ago(0) }],
    ['sent 10 minutes ago', { batch: [{ timestamp: ago(DAY) }, {}], sentAt: ago(10 * MINUTE) }],
    ['by a clock that is 10 minutes ahead', { batch: [{}], sentAt: ago(-10 * MINUTE) }],
    [
      'of messages with another name for their time',
      { batch: [{ originalTimestamp: ago(1) }], sentAt: ago(0) },
    ],
  ])('is not of the past when it is %s', (_what, body) => {
    expect(isHistory(body, NOW)).toBe(false)
  })

  it.each([
    ['no object', null],
    ['no batch', { sentAt: ago(0) }],
    ['without a time of sending', { batch: [{ timestamp: ago(0), sentAt: ago(0) }] }],
    ['sent over 10 minutes ago', { batch: [{}], sentAt: ago(10 * MINUTE + 1) }],
    ['by a clock that is further ahead', { batch: [{}], sentAt: ago(-10 * MINUTE - 1) }],
    ['with a time of sending that is none', { batch: [{}], sentAt: 'now' }],
    ['with a message that is over a day old', { batch: [{}, { timestamp: ago(DAY + 1) }], sentAt: ago(0) }],
    ['with a message whose time is none', { batch: [{ timestamp: 'yesterday' }], sentAt: ago(0) }],
  ])('is of the past when it is %s', (_what, body) => {
    expect(isHistory(body, NOW)).toBe(true)
  })
})
