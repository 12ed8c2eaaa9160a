import { describe, expect, it } from 'vitest'
import { addressOf, replayDeliveries } from './replay-trigger.ts'

const firing = (at: number, more = {}) => ({
  at,
  profileId: 'p',
  recipient: 'ann@example.com',
  isSuppressed: false,
  ...more,
})

describe('replayDeliveries', () => {
  it('ends a cooldown after exactly its seconds, of each person', () => {
    const firings = [firing(0), firing(9_999), firing(9_999, { profileId: 'q' }), firing(10_000)]
    expect(replayDeliveries(firings, { cooldownSeconds: 10 })).toEqual([
      'pending',
      'cooldown',
      'pending',
      'pending',
    ])
    expect(replayDeliveries(firings, { cooldownSeconds: 0 })).toEqual(Array(4).fill('pending'))
  })

  it('begins no cooldown with an email that is not sent', () => {
    const firings = [firing(0, { recipient: null }), firing(1, { isSuppressed: true }), firing(2)]
    const statuses = replayDeliveries(firings, { cooldownSeconds: 10 })
    expect(statuses).toEqual(['skipped_no_email', 'suppressed', 'pending'])
  })
})

describe('addressOf', () => {
  it('says why there is no address', () => {
    expect(addressOf({ email: 'ann@example.com' }).recipient).toBe('ann@example.com')
    expect(addressOf({ email: 'ann' }).reason).toContain('is not an email address')
    for (const traits of [undefined, {}, { email: 4 }])
      expect(addressOf(traits).reason).toContain('no trait email')
  })
})
