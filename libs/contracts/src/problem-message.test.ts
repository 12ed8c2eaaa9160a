import fc from 'fast-check'
import { type TSchema, Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { operations } from './http/operations.ts'
import { parseNumbers } from './number-source.ts'
import { show } from './problem-message.ts'
import { compileValidator } from './validator.ts'

/** `npm run test:chaos` sets the variable. This package cannot import `extent`, because `@waymark/testing` imports it. */
const BODIES = process.env.CHAOS === 'whole' ? 300 : 100

const literal = (...values: string[]) => Type.Union(values.map((value) => Type.Literal(value)))
const problemOf = (schema: TSchema, value: unknown) => compileValidator(schema).check(value)

describe('the message of a problem', () => {
  it.each<[TSchema, unknown, string]>([
    [literal('off', 'warn', 'enforce'), 'strict', 'must be one of off, warn, enforce; got "strict"'],
    [Type.Union([literal('off', 'warn'), Type.Null()]), 'strict', 'must be one of off, warn; got "strict"'],
    [Type.Literal('revoked'), 'used', 'must be revoked; got "used"'],
    [Type.Enum(['a', 'b']), 1, 'must be one of a, b; got 1'],
    [Type.Integer(), '7', 'must be an integer; got "7"'],
    [Type.Unsafe({ type: ['string', 'null'] }), [], 'must be a string or null; got an empty array'],
    [Type.Integer({ minimum: 1, maximum: 5 }), 6, 'must be from 1 to 5; got 6'],
    [Type.Integer({ minimum: 1 }), 0, 'must be at least 1; got 0'],
    [Type.String({ minLength: 1 }), '', 'must not be empty'],
    [Type.String({ minLength: 2 }), '😀', 'must have at least 2 characters; got 1'],
    [Type.String({ maxLength: 1 }), 'ab', 'must have at most 1 character; got 2'],
    [Type.Array(Type.Any(), { maxItems: 1 }), [1, 2], 'must have at most 1 item; got 2'],
    [Type.String({ format: 'uuid' }), 'x', 'must be a UUID; got "x"'],
    [
      Type.String({ pattern: '^[A-Z]{3}$', 'x-pattern-description': 'three capital letters' }),
      'eur',
      'must be three capital letters; got "eur"',
    ],
    [Type.Unsafe({ not: { enum: ['null', 'NaN'] } }), 'NaN', 'must be none of null, NaN; got "NaN"'],
    [Type.String({ writeOnly: true, format: 'email' }), 'secret', 'must be an email address'],
  ])('for %j and %j contains the allowed and the received value', (schema, value, message) => {
    expect(problemOf(schema, value)?.message).toBe(message)
  })

  it('names an unknown field and the known ones', () => {
    const closed = Type.Object({ name: Type.String() }, { additionalProperties: false })
    expect(problemOf(closed, { name: 'a', status: 'archived' })).toEqual({
      field: 'status',
      rule: 'additionalProperties',
      message: 'is not a known field; allowed: name',
    })
  })

  it('refers to the alternative that the value was meant for', () => {
    const nullable = Type.Unsafe({ anyOf: [Type.Object({ count: Type.Integer() }), { type: 'null' }] })
    expect(problemOf(nullable, { count: 'x' })).toMatchObject({ field: 'count', rule: 'type' })
    expect(problemOf(nullable, 7)?.message).toBe('must be an object or null; got 7')
  })

  it('repeats up to 100 characters of a value', () => {
    expect(show('x'.repeat(100))).toBe(`"${'x'.repeat(100)}"`)
    expect(show('x'.repeat(101))).toBe(`"${'x'.repeat(100)}…"`)
  })

  const bodies = operations.flatMap(({ id, body }) => (body ? [{ id, body }] : []))
  const queries = operations.flatMap(({ id, query }) => (query ? [{ id, query }] : []))
  const SCHEMA_WORDS = /must match|must NOT|pattern/
  const isInWords = (message = '') => !SCHEMA_WORDS.test(message)

  it.each(bodies)('has no words of JSON Schema in the body of $id', ({ body }) => {
    const { properties = {} } = body.schema as { properties?: Record<string, unknown> }
    const members = Object.fromEntries(Object.keys(properties).map((name) => [name, fc.jsonValue()]))
    const value = fc.oneof(fc.jsonValue(), fc.record(members, { requiredKeys: [] }))
    fc.assert(
      fc.property(value, (given) => isInWords(body.validator.check(given)?.message)),
      { numRuns: BODIES },
    )
  })

  it.each(queries)('has no words of JSON Schema in the query of $id', ({ query }) => {
    const { properties = {} } = query.schema as { properties?: Record<string, unknown> }
    const members = Object.fromEntries(Object.keys(properties).map((name) => [name, fc.string()]))
    fc.assert(
      fc.property(fc.record(members, { requiredKeys: [] }), (given) =>
        isInWords(query.validator.check({ ...given })?.message),
      ),
    )
  })

  it('describes every pattern of a request in words', () => {
    const parts = JSON.stringify(operations.map(({ body, query }) => [body?.schema, query?.schema]))
    const missing: string[] = []
    JSON.parse(parts, (_name, part: unknown) => {
      const { pattern, ...rest } = Object(part)
      if (typeof pattern === 'string' && !('x-pattern-description' in rest)) missing.push(pattern)
      return part
    })
    expect(missing).toEqual([])
  })
})

describe('the message of a number that lost digits', () => {
  it.each([
    [Type.Object({ userId: Type.String() }), '{"userId":7211045500123456789}', '7211045500123456789'],
    [Type.Object({ a: Type.Array(Type.String()) }), '{"a":["x",-9007199254740993]}', '-9007199254740993'],
    [
      Type.Object({ a: Type.Object({ 'b/~c': Type.Number({ maximum: 0 }) }) }),
      '{"a":{"b/~c":1.00000000000000000001}}',
      '1.00000000000000000001',
    ],
    [Type.Object({ a: Type.String() }), '{"a":7211045500123456768}', '7211045500123456768'],
    [Type.Object({ a: Type.String() }), `{"a":${'9'.repeat(200)}}`, `${'9'.repeat(100)}…`],
  ])('shows it as it was sent: %j %s', (schema, json, shown) => {
    expect(problemOf(schema, parseNumbers(json))?.message).toMatch(new RegExp(`; got ${shown}$`))
  })
})
