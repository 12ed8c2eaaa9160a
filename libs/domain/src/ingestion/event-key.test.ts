import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventKeyOf } from './event-key.ts'

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('eventKeyOf', () => {
  it('is the id itself if it is a UUID, in upper or lower case', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(eventKeyOf(id)).toBe(id)
        expect(eventKeyOf(id.toUpperCase())).toBe(id)
      }),
    )
  })

  it('is a UUID for any id, deterministically', () => {
    const ids = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.uuid().map((id) => `${id} `),
    )
    fc.assert(
      fc.property(ids, (id) => {
        expect(eventKeyOf(id)).toMatch(CANONICAL_UUID)
        expect(eventKeyOf(id)).toBe(eventKeyOf(id))
      }),
    )
  })

  // A golden value, because a change would store every repeated event again.
  it('is the first half of the SHA-256 of other ids, marked as version 8', () => {
    expect(eventKeyOf('order-1')).toBe('0bafe221-56d2-898c-943b-86040446d366')
  })

  it('differs for ids that differ', () => {
    const ids = ['a', 'A', 'a ', 'ab', 'ä', '🦩', '{01900000-0000-7000-8000-000000000001}']
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 20 }), (others) => {
        const all = [...new Set([...ids, ...others])]
        expect(new Set(all.map(eventKeyOf)).size).toBe(all.length)
      }),
    )
  })
})
