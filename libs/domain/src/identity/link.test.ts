import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Link, laterLink, planLink, profileIdOf } from './link.ts'

const projectId = '01900000-0000-7000-8000-000000000001'
const link = (minute: number, by = 'record'): Link => ({
  at: new Date(minute * 60_000).toISOString(),
  by,
})

describe('profileIdOf', () => {
  it('is deterministic, and differs by project, kind and value', () => {
    const ids = [
      profileIdOf({ projectId, kind: 'visitor', value: 'a' }),
      profileIdOf({ projectId, kind: 'user', value: 'a' }),
      profileIdOf({ projectId, kind: 'visitor', value: 'b' }),
      profileIdOf({ projectId: '01900000-0000-7000-8000-000000000002', kind: 'visitor', value: 'a' }),
    ]
    expect(new Set(ids).size).toBe(4)
    expect(ids[0]).toBe(profileIdOf({ projectId, kind: 'visitor', value: 'a' }))
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5/)
  })
})

describe('planLink', () => {
  const anonymous = { profileId: 'v', isUsers: false, link: null }
  const ofUser = { profileId: 'u', isUsers: true, link: link(5) }

  it.each([
    ['both are new', null, null, 'create'],
    ['the visitor is new', null, 'u', 'join'],
    ['the user is new', anonymous, null, 'attach'],
    ['both are known', anonymous, 'u', 'merge'],
    ['they belong together already', ofUser, 'u', 'none'],
  ] as const)('%s', (_what, visitor, user, plan) => {
    expect(planLink(visitor, user, link(6))).toBe(plan)
  })

  it.each([null, 'other'])(
    'moves another user’s visitor, unless a later identify was first: to %s',
    (user) => {
      expect(planLink(ofUser, user, link(6))).toBe('move')
      expect(planLink(ofUser, user, link(5, 'z'))).toBe('move')
      expect(planLink(ofUser, user, link(5, 'a'))).toBe('none')
      expect(planLink(ofUser, user, link(4))).toBe('none')
    },
  )

  it('links a visitor to the same user for any order of its identify calls', () => {
    const identify = fc.record({ user: fc.constantFrom('u1', 'u2', 'u3'), minute: fc.nat(3), by: fc.uuid() })
    const ownerAfter = (identifies: readonly { user: string; minute: number; by: string }[]) => {
      let owner: string | undefined
      let since: Link | null = null
      for (const { user, minute, by } of identifies) {
        const visitor = owner === undefined ? null : { profileId: owner, isUsers: true, link: since }
        if (planLink(visitor, user, link(minute, by)) !== 'none') owner = user
        since = laterLink(link(minute, by), since)
      }
      return owner
    }
    fc.assert(
      fc.property(fc.uniqueArray(identify, { minLength: 1, selector: ({ by }) => by }), (identifies) => {
        expect(ownerAfter(identifies.toReversed())).toBe(ownerAfter(identifies))
      }),
    )
  })
})
