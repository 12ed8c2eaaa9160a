import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { trackedEvent } from './http/track-request.ts'
import { Name } from './schema-parts.ts'
import { compileQueryValidator, compileValidator, hasVisibleCharacter, withTextLength } from './validator.ts'

const person = compileValidator(
  Type.Object({
    name: Type.String({ minLength: 2 }),
    pets: Type.Optional(Type.Array(Type.Object({ legs: Type.Integer() }))),
    born: Type.Optional(Type.String({ format: 'date-time' })),
  }),
)

describe('a validator', () => {
  it.each([
    [
      'date-time',
      '2026-06-30T23:59:60Z',
      ['0000-01-01T00:00:00Z', '2026-01-01T00:00:00+02', '2026-01-01T00:00:00'],
    ],
    ['date', '0001-01-01', ['0000-01-01', '2026-02-29', '2026-1-1', '2026-01-01T00:00:00Z']],
    [
      'uuid',
      '018f0000-0000-7000-8000-00000000000A',
      ['urn:uuid:018f0000-0000-7000-8000-00000000000a', '018f00000000700080000000000000a'],
    ],
  ])('accepts as %s what the stores accept', (format, usable, unusable) => {
    const { fits } = compileValidator(Type.String({ format }))
    expect(fits(usable)).toBe(true)
    for (const text of unusable) expect(fits(text)).toBe(false)
  })

  it.each([
    { name: 'Ada' },
    { name: 'Ada', pets: [] },
    { name: 'Ada', pets: [{ legs: 4 }], born: '1815-12-10T00:00:00Z' },
    { name: 'Ada', unlisted: true },
  ])('finds no problem in %j', (value) => {
    expect(person.check(value)).toBeUndefined()
    expect(person.fits(value)).toBe(true)
  })

  it.each([
    [{}, { field: 'name', rule: 'required', message: 'is required' }],
    [{ name: 'A' }, { field: 'name', rule: 'minLength', message: 'must have at least 2 characters; got 1' }],
    [
      { name: 'Ada', pets: [{ legs: 4 }, { legs: 'two' }] },
      { field: 'pets.1.legs', rule: 'type', message: 'must be an integer; got "two"' },
    ],
    [
      { name: 'Ada', pets: [{}] },
      { field: 'pets.0.legs', rule: 'required', message: 'is required' },
    ],
    [
      { name: 'Ada', born: 'long ago' },
      { field: 'born', rule: 'format' },
    ],
    [null, { field: '', rule: 'type', message: 'must be an object; got null' }],
    [[], { field: '', rule: 'type', message: 'must be an object; got an empty array' }],
  ])('names the invalid field in %j', (value, problem) => {
    expect(person.check(value)).toMatchObject(problem)
    expect(person.fits(value)).toBe(false)
  })

  it("escapes a slash or tilde in a field's name", () => {
    const labels = compileValidator(Type.Unsafe({ type: 'object', additionalProperties: { type: 'string' } }))
    expect(labels.check({ 'a/b~c': 1 })?.field).toBe('a/b~c')
  })

  it('handles any JSON value without throwing, and `check` agrees with `fits`', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(person.check(value) === undefined).toBe(person.fits(value))
      }),
    )
  })
})

const listQuery = compileQueryValidator(
  Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
    bots: Type.Optional(Type.Boolean()),
    name: Type.Optional(Type.String()),
  }),
)

const read = (query: Record<string, unknown>) => {
  const given = { ...query }
  return listQuery.fits(given) ? given : listQuery.check(query)?.field
}

describe('a query string', () => {
  it('gets its defaults', () => {
    expect(read({})).toEqual({ limit: 50 })
  })

  it('is converted to the types of its schema', () => {
    expect(read({ limit: '7', bots: 'true', name: '7' })).toEqual({ limit: 7, bots: true, name: '7' })
  })

  it.each(['0', '501', '', ' 1', '1.5', '1e2', '0x10', 'all'])('refuses the limit %j', (limit) => {
    expect(read({ limit })).toBe('limit')
  })

  it.each(['', 'yes', '1', 'TRUE'])('refuses %j for true or false', (bots) => {
    expect(read({ bots })).toBe('bots')
  })

  it('refuses repeated parameters', () => {
    expect(read({ limit: ['1', '2'] })).toBe('limit')
  })

  it('accepts every number within the bounds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), (limit) => {
        expect(read({ limit: `${limit}` })).toEqual({ limit })
      }),
    )
  })
})

/** Validators of strings by allowed length. Compiling one takes longer than using it. */
const validators = (ajv: Ajv2020) => {
  const compiled = new Map<string, ReturnType<Ajv2020['compile']>>()
  return (minLength: number, maxLength: number) => {
    const key = `${minLength} to ${maxLength}`
    const validate = compiled.get(key) ?? ajv.compile({ type: 'string', minLength, maxLength })
    compiled.set(key, validate)
    return validate
  }
}
const theirs = () => new Ajv2020({ allErrors: true, verbose: true })
const mine = validators(withTextLength(theirs()))
const original = validators(theirs())

it('agrees with counting characters for every text', () => {
  const limit = fc.nat({ max: 8 })
  // Including lone surrogates and surrogate pairs.
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\ud83d', '\ude00'), maxLength: 20 })
  fc.assert(
    fc.property(limit, limit, text, (min, max, value) => {
      const [ours, expected] = [mine, original].map((validatorFor) => {
        const validate = validatorFor(min, max)
        return { valid: validate(value), errors: validate.errors }
      })
      expect(ours).toEqual(expected)
    }),
    { numRuns: 1_000 },
  )
})

const INVISIBLE: Record<string, number[]> = {
  'zero-width space, joiners and no-break space': [0x200b, 0x200c, 0x200d, 0xfeff],
  'word joiner and invisible operators': [0x2060, 0x2061, 0x2062, 0x2063, 0x2064],
  'bidirectional controls': [0x061c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069],
  'soft hyphen and grapheme joiner': [0x00ad, 0x034f],
  'Hangul fillers': [0x115f, 0x1160, 0x3164, 0xffa0],
  'Mongolian and Khmer': [0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f],
  'variation selectors': [0xfe00, 0xfe0f, 0xe0100, 0xe01ef],
  tags: [0xe0000, 0xe0001, 0xe0020, 0xe007f],
  'blank Braille pattern': [0x2800],
  'annotation and musical controls': [0xfff9, 0xfffb, 0x1d173, 0x1d17a],
  'control characters': [0x7f, 0x80, 0x9f],
  'white space': [0x09, 0x20, 0xa0, 0x1680, 0x2003, 0x2028, 0x202f, 0x205f, 0x3000],
}
const texts = Object.entries(INVISIBLE).map(
  ([what, points]) => [what, String.fromCodePoint(...points)] as const,
)

describe('a text', () => {
  it.each(texts)('of only %s is not visible', (_what, text) => {
    for (const character of text) expect(hasVisibleCharacter(character), escape(character)).toBe(false)
    expect(hasVisibleCharacter(text)).toBe(false)
    expect(hasVisibleCharacter(`${text}a${text}`)).toBe(true)
  })

  it.each(['a', '-', '0', 'é', '日本', '👩‍💻', '🏴', '❤️', 'क्ष', '\u0600', '\ufffd'])(
    'of %s is visible',
    (text) => {
      expect(hasVisibleCharacter(text)).toBe(true)
    },
  )
})

describe('a name', () => {
  const named = compileValidator(Type.Object({ name: Name }))
  it.each(texts)('of only %s is refused', (_what, name) => {
    expect(named.check({ name })).toMatchObject({
      field: 'name',
      rule: 'pattern',
      message: expect.stringContaining(
        'must be text with at least one visible character, and without U+0000; got',
      ),
    })
  })

  it('with invisible characters beside visible ones is kept', () => {
    expect(named.fits({ name: '👩\u200d💻 \u200f' })).toBe(true)
  })
})

describe('an event', () => {
  it.each(texts)('whose name or id is only %s is refused', (_what, text) => {
    for (const field of ['eventName', 'eventId', 'visitorId', 'userId', 'sessionId', 'shortLinkCode'])
      expect(trackedEvent.check({ eventName: 'seen', [field]: text })).toMatchObject({
        field,
        rule: 'pattern',
      })
  })

  it('may have empty ids, which count as missing', () => {
    expect(trackedEvent.fits({ eventName: 'seen', visitorId: '', eventId: '' })).toBe(true)
  })
})
