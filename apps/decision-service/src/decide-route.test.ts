import { AppError } from '@waymark/contracts/app-error'
import { MAX_CONTEXT_DEPTH } from '@waymark/contracts/http/decide'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDecide } from './decide-route.ts'

const nested = (levels: number): unknown => (levels === 0 ? 1 : { deeper: nested(levels - 1) })

describe('a decide request', () => {
  it('contains a person, decisions and a context; only the person is required', () => {
    expect(parseDecide({ visitorId: 'v', userId: null, keys: ['a', 'b', 'a'], context: { x: 1 } })).toEqual({
      visitorId: 'v',
      userId: null,
      keys: ['a', 'b'],
      context: { x: 1 },
    })
    expect(parseDecide({ userId: 'u' })).toEqual({ visitorId: null, userId: 'u', keys: null, context: {} })
  })

  it.each([
    ['an id of 200 characters', { visitorId: 'x'.repeat(200) }],
    ['100 keys', { visitorId: 'v', keys: Array.from({ length: 100 }, (_, n) => `${n}`) }],
    ['no keys at all', { visitorId: 'v', keys: [] }],
    [`a context of ${MAX_CONTEXT_DEPTH} levels`, { visitorId: 'v', context: nested(MAX_CONTEXT_DEPTH) }],
  ])('accepts %s', (_what, body) => {
    expect(() => parseDecide(body)).not.toThrow()
  })

  it.each([
    ['nobody', {}, 'visitorId or userId is required'],
    ['nobody by name', { visitorId: null, userId: null }, 'visitorId or userId is required'],
    ['an id of 201 characters', { visitorId: 'x'.repeat(201) }, /^visitorId /],
    [
      'an id that is a bug',
      { visitorId: 'undefined' },
      'visitorId must be an id, and no placeholder such as undefined, null, None or [object Object]; got "undefined"',
    ],
    ['an id of white space', { visitorId: ' ' }, /^visitorId must be printable/],
    ['a key of white space', { visitorId: 'v', keys: ['a', ' '] }, /^keys.1 must be more than/],
    [
      'an unknown field',
      { visitorId: 'v', user: 'u' },
      'user is not a known field; allowed: visitorId, userId, keys, context',
    ],
    ['an id that is a number', { userId: 7 }, /^userId /],
    ['101 keys', { visitorId: 'v', keys: Array.from({ length: 101 }, (_, n) => `${n}`) }, /^keys /],
    ['one key that is no list', { visitorId: 'v', keys: 'a' }, /^keys /],
    ['a context that is a list', { visitorId: 'v', context: [] }, /^context /],
    [
      `a context of ${MAX_CONTEXT_DEPTH + 1} levels`,
      { visitorId: 'v', context: nested(MAX_CONTEXT_DEPTH + 1) },
      /^context is nested deeper/,
    ],
    ['a list', [], /^The body /],
  ])('refuses %s', (_what, body, message) => {
    expect(() => parseDecide(body)).toThrow(message)
  })

  it('is parsed or refused for any input', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        try {
          parseDecide(body)
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
        }
      }),
    )
  })
})
