import { describe, expect, it } from 'vitest'
import { countsOf } from './condition.ts'
import { subjectOf } from './subject.ts'

const projectId = '01900000-0000-7000-8000-000000000001'
const ids = (visitorId: string | null, userId: string | null) => ({ projectId, visitorId, userId })
const anonymous = { profileId: 'p-visitor', bucketingId: 'first-visitor', isUsers: false }
const users = { profileId: 'p-user', bucketingId: 'first-of-user', isUsers: true }

describe('the subject', () => {
  it('is what the profile was created for: the user’s, else the visitor’s', () => {
    expect(subjectOf(ids('v', 'u'), anonymous, users)).toMatchObject({
      subject: 'first-of-user',
      profileId: 'p-user',
    })
    expect(subjectOf(ids('v', null), anonymous, undefined)).toMatchObject({ subject: 'first-visitor' })
    expect(subjectOf(ids('v', null), users, undefined)).toMatchObject({ subject: 'first-of-user' })
  })

  it('is that of the visitor for an unknown user, as after an identify call', () => {
    expect(subjectOf(ids('v', 'u'), anonymous, undefined)).toMatchObject({ profileId: 'p-visitor' })
    expect(subjectOf(ids('v', 'u'), undefined, undefined)).toMatchObject({ subject: 'v', profileId: null })
  })

  it('is the user’s own if the visitor belongs to another user', () => {
    expect(subjectOf(ids('v', 'u'), users, undefined)).toEqual({
      subject: 'u',
      profileId: null,
      identity: { projectId, kind: 'user', value: 'u' },
    })
  })

  it('is the id itself for an unknown person, and undefined without ids', () => {
    expect(subjectOf(ids('v', null), undefined, undefined)).toMatchObject({ subject: 'v', profileId: null })
    expect(subjectOf(ids(null, 'u'), undefined, undefined)).toMatchObject({ subject: 'u', profileId: null })
    expect(subjectOf(ids(null, null), undefined, undefined)).toBeUndefined()
  })
})

describe('counts', () => {
  const days = [
    { event: 'order', day: '2026-11-21', n: 1 },
    { event: 'order', day: '2026-11-20', n: 2 },
    { event: 'order', day: '2026-11-15', n: 4 },
    { event: 'order', day: '2026-11-14', n: 8 },
    { event: 'other', day: '2026-11-21', n: 16 },
  ]
  const now = Date.parse('2026-11-21T23:59:59.999Z')

  it.each([
    [1, 1],
    [2, 3],
    [7, 7],
    [8, 15],
    [90, 15],
  ])('of %d days include today and the previous days', (window, n) => {
    expect(countsOf([{ event: 'order', days: window }], days, now)).toEqual({ order: { [`${window}d`]: n } })
  })

  it('are 0 for unknown events, also for names of inherited members', () => {
    const refs = [
      { event: '__proto__', days: 7 },
      { event: 'constructor', days: 7 },
    ]
    const counts = countsOf(refs, [], now)
    expect(Object.keys(counts)).toEqual(['__proto__', 'constructor'])
    expect(counts.constructor).toEqual({ '7d': 0 })
  })
})
