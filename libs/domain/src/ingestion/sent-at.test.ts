import { describe, expect, it } from 'vitest'
import { readSentAt } from './sent-at.ts'

describe('the send time of a request', () => {
  it.each([null, undefined])('may be missing: %j', (value) => {
    expect(readSentAt(value)).toEqual({ sentAt: null })
  })

  it.each(['2026-11-21T04:00:00Z', `2026-11-21T04:00:00.${'0'.repeat(43)}Z`])('may be %s', (value) => {
    expect(readSentAt(value)).toEqual({ sentAt: value })
  })

  it.each([7, true, {}, [], '', 'yesterday', '2026-11-21', `2026-11-21T04:00:00.${'0'.repeat(44)}Z`])(
    'is missing with a warning when it is %j',
    (value) => {
      expect(readSentAt(value)).toMatchObject({
        sentAt: null,
        sentAtProblem: { field: 'sentAt', rule: 'invalid_sent_at' },
      })
    },
  )

  it('is shown truncated', () => {
    expect(readSentAt('x'.repeat(1_000)).sentAtProblem?.actual).toBe('x'.repeat(64))
  })
})
