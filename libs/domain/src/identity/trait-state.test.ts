import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  MAX_TRAITS_PER_PROFILE,
  mergeTraits,
  noTraits,
  type TraitState,
  type TraitWrite,
  writtenTraits,
} from './trait-state.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 4, minute)).toISOString()
const write = (minute: number, own = true, by = 'record'): TraitWrite => ({ at: at(minute), by, own })

// Few names, times and records, so that writes meet; a record's value follows from its id, since it has one only.
const someWrite = fc
  .record({
    names: fc.subarray(['email', 'plan', '__proto__', 'toString', '', '7'], { minLength: 1 }),
    minute: fc.nat(3),
    own: fc.boolean(),
    by: fc.nat(5),
  })
  .map(({ names, minute, own, by }) => ({
    names,
    write: write(minute, own, `${by}`),
    value: by === 0 ? null : by,
  }))
const someState = fc
  .array(someWrite, { maxLength: 5 })
  .map((writes) =>
    writes.reduce<TraitState>(
      (state, { names, write, value }) =>
        mergeTraits(state, writtenTraits(Object.fromEntries(names.map((name) => [name, value])), write)),
      noTraits,
    ),
  )

describe('mergeTraits', () => {
  it('does not mind order', () => {
    fc.assert(
      fc.property(someState, someState, (a, b) => {
        expect(mergeTraits(a, b)).toEqual(mergeTraits(b, a))
      }),
    )
  })

  it('does not mind grouping', () => {
    fc.assert(
      fc.property(someState, someState, someState, (a, b, c) => {
        expect(mergeTraits(mergeTraits(a, b), c)).toEqual(mergeTraits(a, mergeTraits(b, c)))
      }),
    )
  })

  it('does not mind repeats', () => {
    fc.assert(
      fc.property(someState, someState, (a, b) => {
        expect(mergeTraits(a, a)).toEqual(a)
        expect(mergeTraits(mergeTraits(a, b), b)).toEqual(mergeTraits(a, b))
        expect(mergeTraits(a, noTraits)).toEqual(a)
      }),
    )
  })

  it('survives being stored as JSON', () => {
    fc.assert(
      fc.property(someState, someState, (a, b) => {
        const stored: TraitState = JSON.parse(JSON.stringify(a))
        expect(mergeTraits(stored, b)).toEqual(mergeTraits(a, b))
      }),
    )
  })

  const free = writtenTraits({ plan: 'free' }, write(1))
  const paid = writtenTraits({ plan: 'paid' }, write(2))
  const unset = writtenTraits({ plan: null }, write(3))

  it('lets the last write count, per trait', () => {
    expect(mergeTraits(paid, free).traits).toEqual({ plan: 'paid' })
    expect(mergeTraits(free, writtenTraits({ email: 'a@b.c' }, write(0))).traits).toEqual({
      plan: 'free',
      email: 'a@b.c',
    })
  })

  it('remembers that a trait was unset, so that an earlier write that comes late does not bring it back', () => {
    expect(mergeTraits(paid, unset).traits).toEqual({})
    expect(mergeTraits(unset, paid).traits).toEqual({})
    expect(mergeTraits(mergeTraits(paid, unset), writtenTraits({ plan: 'free' }, write(4))).traits).toEqual({
      plan: 'free',
    })
  })

  it('lets the record decide between writes of the same moment', () => {
    const one = writtenTraits({ plan: 1 }, write(1, true, 'a'))
    const other = writtenTraits({ plan: 2 }, write(1, true, 'b'))
    expect(mergeTraits(other, one).traits).toEqual({ plan: 2 })
  })

  it('lets the user’s own traits win over later ones of the anonymous visitor, also an unset one', () => {
    const anonymous = writtenTraits({ plan: 'guest', city: 'Bern' }, write(9, false))
    expect(mergeTraits(anonymous, free).traits).toEqual({ plan: 'free', city: 'Bern' })
    expect(mergeTraits(anonymous, unset).traits).toEqual({ city: 'Bern' })
  })

  it('compares times, not texts', () => {
    const earlier = writtenTraits({ plan: 'old' }, { at: '2026-11-21T05:00:00+02:00', by: 'b', own: true })
    const later = writtenTraits({ plan: 'new' }, { at: '2026-11-21T04:00:00.000Z', by: 'a', own: true })
    expect(mergeTraits(later, earlier).traits).toEqual({ plan: 'new' })
  })

  it('keeps the thousand traits that were written last, in whatever order they come', () => {
    const states = Array.from({ length: 12 }, (_, group) =>
      writtenTraits(
        Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`trait-${group}-${n}`, n])),
        write(group),
      ),
    )
    const forth = states.reduce(mergeTraits)
    const back = states.toReversed().reduce(mergeTraits)
    expect(Object.keys(forth.writes)).toHaveLength(MAX_TRAITS_PER_PROFILE)
    expect(back).toEqual(forth)
    expect(forth.traits).toHaveProperty('trait-11-0')
    expect(forth.traits).not.toHaveProperty('trait-0-0')
  })
})
