import { MAX_TRAITS_BYTES } from '@waymark/contracts/http/identify'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseClientJson } from '../json/client-json.ts'
import { checkTraits, traitsProblem } from './check-traits.ts'

describe('traitsProblem', () => {
  it('accepts 8,192 bytes and refuses 8,193', () => {
    expect(traitsProblem({}, MAX_TRAITS_BYTES)).toBeUndefined()
    expect(traitsProblem({}, MAX_TRAITS_BYTES + 1)).toContain('8193 bytes')
  })

  it.each([
    [{}, true],
    [{ a: 1 }, true],
    [{ a: {}, b: [] }, true],
    [{ a: { b: 1 }, c: [1, null, 'x'] }, true],
    [{ a: { b: {} } }, false],
    [{ a: { b: [] } }, false],
    [{ a: [[]] }, false],
    [{ a: [{}] }, false],
  ])('nesting %j: allowed is %s', (traits, allowed) => {
    expect(traitsProblem(traits, 1) === undefined).toBe(allowed)
  })
})

describe('checkTraits', () => {
  const droppedOf = (traits: object, deniedTraits?: string[]) =>
    checkTraits(traits as Record<string, unknown>, { deniedTraits }).droppedKeys

  it.each(['$set', '_id', '$', '_', 'constructor', 'prototype', 'x'.repeat(65), '🦩'.repeat(65)])(
    'drops %s',
    (name) => {
      expect(checkTraits({ [name]: 1, kept: 2 })).toEqual({ traits: { kept: 2 }, droppedKeys: [name] })
    },
  )

  it('drops __proto__ without changing a prototype', () => {
    const sent = parseClientJson('{"__proto__":{"admin":true},"plan":"free"}') as Record<string, unknown>
    const { traits, droppedKeys } = checkTraits(sent)
    expect(droppedKeys).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(traits)).toBe(Object.prototype)
    expect(traits).toEqual({ plan: 'free' })
  })

  it.each(['x'.repeat(64), '🦩'.repeat(64), 'a$', 'a_', 'toString', 'hasOwnProperty', '', ' '])(
    'keeps %j',
    (name) => {
      expect(checkTraits({ [name]: 1 })).toEqual({ traits: { [name]: 1 }, droppedKeys: [] })
    },
  )

  it.each(['email', 'phone', 'name', 'locale', 'timezone'])('requires %s to be a string or null', (name) => {
    for (const value of ['', 'text', null]) expect(droppedOf({ [name]: value })).toEqual([])
    for (const value of [1, true, [], {}, ['a']]) expect(droppedOf({ [name]: value })).toEqual([name])
  })

  it('drops traits that the project denies, and lists them in the order sent', () => {
    expect(droppedOf({ ssn: '1', plan: 'free', $a: 1, email: 'a@b.c' }, ['email', 'ssn', 'other'])).toEqual([
      'ssn',
      '$a',
      'email',
    ])
  })

  it('keeps each trait unchanged or lists it as dropped', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (sent) => {
        const { traits, droppedKeys } = checkTraits(sent)
        expect(new Set([...Object.keys(traits), ...droppedKeys])).toEqual(new Set(Object.keys(sent)))
        expect(Object.keys(traits).length + droppedKeys.length).toBe(Object.keys(sent).length)
        for (const [name, value] of Object.entries(traits)) expect(value).toBe(sent[name])
      }),
    )
  })
})
