import { expect, it } from 'vitest'
import { sortBounces } from './bounces-route.ts'

const gone = { address: 'gone@example.com', type: 'hard' }

it('keeps the reports next to a wrong one, and says why', () => {
  const reports = [gone, { address: 'Mailer Daemon', type: 'hard' }, { ...gone, type: 'odd' }, null, gone]
  expect(sortBounces(reports)).toEqual({
    bounces: [gone, gone],
    invalid: [
      { index: 1, reason: 'address is not an email address' },
      { index: 2, reason: 'type must be one of hard, soft, complaint; got "odd"' },
      { index: 3, reason: 'The report must be an object; got null' },
    ],
  })
})

it('refuses a request without any valid report', () => {
  expect(() => sortBounces([{ address: 'no', type: 'hard' }])).toThrow(
    'bounces.0: address must have at least',
  )
})
