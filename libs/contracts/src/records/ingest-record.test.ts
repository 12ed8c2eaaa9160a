import { describe, expect, it } from 'vitest'
import { ingestRecords } from '../topics.ts'

const identify = {
  v: 1,
  kind: 'identify',
  id: '01900000-0000-7000-8000-00000000000a',
  projectId: '01900000-0000-7000-8000-000000000001',
  receivedAt: '2026-11-21T04:00:00.000Z',
  visitorId: 'v',
  userId: 'u',
  traits: { plan: null },
}
const { validator } = ingestRecords

describe('a queued identify', () => {
  it('matches the topic', () => {
    expect(validator.check(identify)).toBeUndefined()
  })

  it.each([
    ['v', 2],
    ['id', 'x'],
    ['userId', null],
    ['traits', []],
  ])('is refused with the %s %j, naming the field', (field, value) => {
    expect(validator.check({ ...identify, [field]: value })?.field).toBe(field)
  })

  it.each([[null], [[]], ['x'], [{}], [{ kind: 'other' }]])('is not %j', (value) => {
    expect(validator.fits(value)).toBe(false)
  })
})
