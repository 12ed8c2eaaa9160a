import { MAX_PROFILE_TRAITS_BYTES } from '@waymark/contracts/http/identify'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  exceedsProfile,
  MAX_TRAITS_PER_PROFILE,
  mergeTraits,
  mergeTraitsThatFit,
  noTraits,
  protectedTraits,
  type TraitState,
  type TraitWrite,
  traitsBytes,
  writtenTraits,
} from './trait-state.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 4, minute)).toISOString()
const write = (minute: number, own = true, by = 'record'): TraitWrite => ({ at: at(minute), by, own })

// Few names, times and records, so that writes collide. A record's value follows from its id, because it has only one.
const someWrite = fc
  .record({
    names: fc.subarray(['email', 'plan', '__proto__', 'toString', '', '7'], { minLength: 1 }),
    minute: fc.nat(3),
    own: fc.boolean(),
    by: fc.nat(5),
  })
  // Whether a write is verified follows from its record, too.
  .map(({ names, minute, own, by }) => ({
    names,
    write: { ...write(minute, own, `${by}`), ...(by % 2 === 1 && { verified: false as const }) },
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
  it('does not depend on order', () => {
    fc.assert(
      fc.property(someState, someState, (a, b) => {
        expect(mergeTraits(a, b)).toEqual(mergeTraits(b, a))
      }),
    )
  })

  it('does not depend on grouping', () => {
    fc.assert(
      fc.property(someState, someState, someState, (a, b, c) => {
        expect(mergeTraits(mergeTraits(a, b), c)).toEqual(mergeTraits(a, mergeTraits(b, c)))
      }),
    )
  })

  it('does not depend on repetitions', () => {
    fc.assert(
      fc.property(someState, someState, (a, b) => {
        expect(mergeTraits(a, a)).toEqual(a)
        expect(mergeTraits(mergeTraits(a, b), b)).toEqual(mergeTraits(a, b))
        expect(mergeTraits(a, noTraits)).toEqual(a)
      }),
    )
  })

  it('is unchanged after storing it as JSON', () => {
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

  it('keeps the last write of each trait', () => {
    expect(mergeTraits(paid, free).traits).toEqual({ plan: 'paid' })
    expect(mergeTraits(free, writtenTraits({ email: 'a@b.c' }, write(0))).traits).toEqual({
      plan: 'free',
      email: 'a@b.c',
    })
  })

  it('does not restore an unset trait by an earlier write that arrives late', () => {
    expect(mergeTraits(paid, unset).traits).toEqual({})
    expect(mergeTraits(unset, paid).traits).toEqual({})
    expect(mergeTraits(mergeTraits(paid, unset), writtenTraits({ plan: 'free' }, write(4))).traits).toEqual({
      plan: 'free',
    })
  })

  it('orders writes of the same time by their record', () => {
    const one = writtenTraits({ plan: 1 }, write(1, true, 'a'))
    const other = writtenTraits({ plan: 2 }, write(1, true, 'b'))
    expect(mergeTraits(other, one).traits).toEqual({ plan: 2 })
  })

  it('prefers the user’s own traits, also unset ones, to later traits of the visitor', () => {
    const anonymous = writtenTraits({ plan: 'guest', city: 'Bern' }, write(9, false))
    expect(mergeTraits(anonymous, free).traits).toEqual({ plan: 'free', city: 'Bern' })
    expect(mergeTraits(anonymous, unset).traits).toEqual({ city: 'Bern' })
  })

  it('compares times by value and not as text', () => {
    const earlier = writtenTraits({ plan: 'old' }, { at: '2026-11-21T05:00:00+02:00', by: 'b', own: true })
    const later = writtenTraits({ plan: 'new' }, { at: '2026-11-21T04:00:00.000Z', by: 'a', own: true })
    expect(mergeTraits(later, earlier).traits).toEqual({ plan: 'new' })
  })

  it('keeps the thousand latest traits, for any order of writes', () => {
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

describe('protected traits', () => {
  const unverified = (minute: number, own = true): TraitWrite => ({
    ...write(minute, own, 'pub'),
    verified: false,
  })
  const known = writtenTraits({ email: 'ann@example.com', plan: 'free' }, write(1))
  const forged = writtenTraits({ email: 'eve@example.com', phone: '1', plan: 'paid' }, unverified(9))

  it('are not replaced by an unverified write of any time', () => {
    for (const merged of [mergeTraits(known, forged), mergeTraits(forged, known)])
      expect(merged.traits).toEqual({ email: 'ann@example.com', phone: '1', plan: 'paid' })
  })

  it('are not unset by one, and stay unset', () => {
    const unset = writtenTraits({ email: null }, unverified(9))
    expect(mergeTraits(known, unset).traits).toHaveProperty('email', 'ann@example.com')
    const removed = mergeTraits(known, writtenTraits({ email: null }, write(2)))
    expect(mergeTraits(removed, forged).traits).not.toHaveProperty('email')
  })

  it('are replaced by a later verified write, and unverified ones by any later write', () => {
    const changed = writtenTraits({ email: 'new@example.com' }, write(10))
    expect(mergeTraits(mergeTraits(known, forged), changed).traits.email).toBe('new@example.com')
    const again = writtenTraits({ email: 'second@example.com' }, unverified(10))
    expect(mergeTraits(forged, again).traits.email).toBe('second@example.com')
  })

  it('are kept when a verified write for the visitor meets an unverified one for the user', () => {
    const ofVisitor = writtenTraits({ email: 'ann@example.com' }, write(1, false))
    expect(mergeTraits(ofVisitor, forged).traits.email).toBe('ann@example.com')
    expect(mergeTraits(forged, ofVisitor).traits.email).toBe('ann@example.com')
  })

  it('stay when a thousand other traits are written', () => {
    const many = Object.fromEntries(Array.from({ length: MAX_TRAITS_PER_PROFILE }, (_, n) => [`t${n}`, n]))
    expect(mergeTraits(known, writtenTraits(many, unverified(9))).traits.email).toBe('ann@example.com')
  })

  it('are reported for unverified writes only', () => {
    const traits = { email: null, phone: '1', plan: 'x' }
    expect(protectedTraits(known, traits, { verified: false })).toEqual(['email'])
    expect(protectedTraits(known, traits, {})).toEqual([])
    expect(protectedTraits(forged, traits, { verified: false })).toEqual([])
    expect(protectedTraits(noTraits, traits, { verified: false })).toEqual([])
  })
})

describe('the size of a profile', () => {
  const sized = (name: string, bytes: number, at = write(1)) =>
    writtenTraits({ [name]: 'x'.repeat(bytes - name.length - 7) }, at)

  it('may be 65,536 bytes and no more', () => {
    expect(traitsBytes(sized('a', MAX_PROFILE_TRAITS_BYTES).traits)).toBe(MAX_PROFILE_TRAITS_BYTES)
    expect(exceedsProfile(sized('a', MAX_PROFILE_TRAITS_BYTES), noTraits)).toBe(false)
    expect(exceedsProfile(sized('a', MAX_PROFILE_TRAITS_BYTES + 1), noTraits)).toBe(true)
  })

  it('may decrease when a stored profile exceeds the limit', () => {
    expect(exceedsProfile(sized('a', 300_000), sized('a', 300_000))).toBe(false)
    expect(exceedsProfile(sized('a', 300_001), sized('a', 300_000))).toBe(true)
  })

  it('adds traits of a merged profile up to the limit, the latest first', () => {
    const user = sized('own', 40_000)
    const visitor = [
      sized('old', 10_000, write(1, false)),
      sized('large', 30_000, write(2, false)),
      sized('new', 20_000, write(3, false)),
    ].reduce(mergeTraits)
    const merged = mergeTraitsThatFit(user, visitor)
    expect(Object.keys(merged.traits).sort()).toEqual(['new', 'own'])
    expect(mergeTraitsThatFit(user, sized('b', 25_536, write(1, false))).traits).toHaveProperty('b')
    expect(mergeTraitsThatFit(user, sized('b', 25_538, write(1, false))).traits).not.toHaveProperty('b')
  })

  const state = fc
    .array(
      fc.record({
        name: fc.constantFrom('email', 'a', 'b', 'é', 'd"', '__proto__'),
        bytes: fc.nat(40_000),
        minute: fc.nat(5),
        own: fc.boolean(),
        unset: fc.boolean(),
      }),
      { maxLength: 6 },
    )
    .map((writes) =>
      writes.reduce<TraitState>((known, { name, bytes, minute, own, unset }, index) => {
        const value = unset ? null : '\u00e9'.repeat(bytes / 2)
        const written = writtenTraits({ [name]: value }, write(minute, own, `${index}`))
        const next = mergeTraits(known, written)
        return exceedsProfile(next, known) ? known : next
      }, noTraits),
    )

  it('stays within the limit after merges, and a repeated merge changes nothing', () => {
    fc.assert(
      fc.property(state, state, (a, b) => {
        const merged = mergeTraitsThatFit(a, b)
        expect(traitsBytes(merged.traits)).toBeLessThanOrEqual(MAX_PROFILE_TRAITS_BYTES)
        const all = mergeTraits(a, b)
        if (!exceedsProfile(all, a)) expect(merged).toEqual(all)
      }),
    )
  })
})
