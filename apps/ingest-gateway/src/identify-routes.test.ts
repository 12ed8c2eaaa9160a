import { AppError } from '@waymark/contracts/app-error'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseIdentify, parseProfileWrite } from './identify-routes.ts'

const parse = (body: unknown, text = JSON.stringify(body)) => parseIdentify(body, Buffer.from(text))
const parseProfile = (body: unknown) => parseProfileWrite(body, Buffer.from(JSON.stringify(body)))
const messageOf = (work: () => unknown): string => {
  try {
    work()
    return ''
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_request') return error.message
    throw error
  }
}

const people = { visitorId: 'v', userId: 'u' }

describe('parseIdentify', () => {
  it('reads the ids, with or without traits', () => {
    expect(parse({ ...people, traits: { plan: null } })).toEqual({
      ...people,
      userHash: null,
      traits: { plan: null },
    })
    for (const traits of [undefined, null, {}]) expect(parse({ ...people, traits }).traits).toEqual({})
  })

  it.each([
    ['visitorId is required', { userId: 'u' }],
    ['userId is required', { visitorId: 'v' }],
    ['other is not a known field; allowed: visitorId, userId, userHash, traits', { ...people, other: 1 }],
    [
      'userId must be an id, and no placeholder such as undefined, null, None or [object Object]; got "NaN"',
      { ...people, userId: 'NaN' },
    ],
    [
      'visitorId must be an id, and no placeholder such as undefined, null, None or [object Object]; got "[object Object]"',
      { ...people, visitorId: '[object Object]' },
    ],
    ['traits are nested deeper than 2 levels', { ...people, traits: { a: { b: {} } } }],
    ['The body must be an object; got null', null],
  ])('reports that %s', (message, body) => {
    expect(messageOf(() => parse(body))).toBe(message)
  })

  it('measures traits as sent', () => {
    const spaced = `{"visitorId":"v","userId":"u","traits":{${' '.repeat(8_190)}}}`
    expect(messageOf(() => parse(JSON.parse(spaced), spaced))).toBe('')
    const larger = spaced.replace('{}', '{ }').replace('{ ', '{  ')
    expect(messageOf(() => parse(JSON.parse(larger), larger))).toContain('8193 bytes')
  })

  it('returns the ids or an error for any input', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          fc.record({ visitorId: fc.jsonValue(), userId: fc.string(), traits: fc.jsonValue() }),
        ),
        (body) => {
          if (messageOf(() => parse(body)) === '') expect(parse(body).userId).not.toBe('')
        },
      ),
    )
  })
})

describe('parseProfileWrite', () => {
  it.each([
    [{ userId: 'u' }, 'user', 'u'],
    [{ visitorId: 'v', userId: null }, 'visitor', 'v'],
    [people, 'user', 'u'],
  ])('reads %j as the %s', (ids, kind, value) => {
    expect(parseProfile({ ...ids, traits: { a: 1 } })).toEqual({
      kind,
      value,
      userHash: null,
      traits: { a: 1 },
    })
  })

  it.each([
    ['userId or visitorId is required', { traits: {} }],
    ['traits is required', { userId: 'u' }],
    ['traits must be an object; got null', { userId: 'u', traits: null }],
  ])('reports that %s', (message, body) => {
    expect(messageOf(() => parseProfile(body))).toBe(message)
  })
})
