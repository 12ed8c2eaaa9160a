import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { ProjectSettings } from '@waymark/contracts/project-settings'
import type { AcceptedEvent } from '@waymark/contracts/records/ingest-record'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compileEventSchema,
  uncheckedProperties,
  validateEvent,
  validationModeOf,
} from './event-validation.ts'

const envelope: ValidationItem[] = [
  { field: 'visitorId', rule: 'missing_visitor_id', message: 'visitorId is missing' },
]
const check = compileEventSchema({ required: ['total'], properties: { total: { type: 'integer' } } })

const event = (eventName: string, properties: Record<string, unknown>): AcceptedEvent => ({
  eventId: 'e',
  eventName,
  properties,
})
const catalog = (settings: ProjectSettings = {}) => ({
  settings,
  hasDefinitions: true,
  checkFor: (name: string) => (name === 'order' ? check : undefined),
})
const rules = (items: ValidationItem[]) => items.map(({ rule }) => rule)

describe('validating an event', () => {
  it('does not report unknown names in a project without definitions', () => {
    const empty = (settings: ProjectSettings = {}) => ({
      settings,
      hasDefinitions: false,
      checkFor: () => undefined,
    })
    for (const mode of ['warn', 'enforce'] as const)
      expect(validateEvent(event('first', {}), envelope, mode, empty())).toEqual({
        violations: [],
        warnings: envelope,
      })
    const strict = { ingestValidation: { rejectUnknownEvents: true } }
    expect(rules(validateEvent(event('first', {}), [], 'enforce', empty(strict)).violations)).toEqual([
      'unknown_event',
    ])
    expect(validateEvent(event('first', {}), [], 'warn', empty(strict)).warnings).toEqual([])
  })

  it.each([
    ['off', 'order', { total: 'x' }, [], []],
    ['off', 'unknown', {}, [], []],
    ['warn', 'order', { total: 1 }, [], ['missing_visitor_id']],
    ['warn', 'order', { total: 'x' }, [], ['missing_visitor_id', 'type']],
    ['warn', 'unknown', {}, [], ['missing_visitor_id', 'unknown_event']],
    ['enforce', 'order', { total: 1 }, [], ['missing_visitor_id']],
    ['enforce', 'order', {}, ['required'], ['missing_visitor_id']],
    ['enforce', 'unknown', {}, [], ['missing_visitor_id', 'unknown_event']],
  ] as const)('in %s: %s %j', (mode, name, properties, violations, warnings) => {
    const verdict = validateEvent(event(name, properties), envelope, mode, catalog())
    expect(rules(verdict.violations)).toEqual(violations)
    expect(rules(verdict.warnings)).toEqual(warnings)
  })

  it('accepts an event with a warning when the schema of its definition cannot be used', () => {
    const broken = { ...catalog(), checkFor: () => uncheckedProperties }
    for (const mode of ['warn', 'enforce'] as const) {
      const { violations, warnings } = validateEvent(event('order', {}), [], mode, broken)
      expect(violations).toEqual([])
      expect(rules(warnings)).toEqual(['unusable_schema'])
    }
  })

  it('refuses unknown events in enforce mode if configured', () => {
    const strict = catalog({ ingestValidation: { rejectUnknownEvents: true } })
    expect(rules(validateEvent(event('unknown', {}), [], 'enforce', strict).violations)).toEqual([
      'unknown_event',
    ])
    expect(rules(validateEvent(event('unknown', {}), [], 'warn', strict).violations)).toEqual([])
  })

  it('reports the field, the expected and the received value', () => {
    expect(check({ total: 'much' })).toEqual([
      {
        field: 'properties.total',
        rule: 'type',
        expected: 'integer',
        actual: 'much',
        message: 'must be an integer; got "much"',
      },
    ])
    expect(check({})).toMatchObject([{ field: 'properties.total', rule: 'required' }])
  })
})

describe('the mode', () => {
  it('is the key’s, else the project’s, else warn', () => {
    expect(validationModeOf('off', { ingestValidation: { mode: 'enforce' } })).toBe('off')
    expect(validationModeOf(null, { ingestValidation: { mode: 'enforce' } })).toBe('enforce')
    expect(validationModeOf(null, {})).toBe('warn')
  })
})

describe('messages', () => {
  it.each([
    [{ type: 'integer' }, '7', 'must be an integer; got "7"'],
    [{ enum: ['a', 'b'] }, 'c', 'must be one of a, b; got "c"'],
    [{ pattern: '^[A-Z]+$' }, 'x', 'must fit the regular expression ^[A-Z]+$; got "x"'],
    [{ not: { type: 'string' } }, 'x', 'must not have this form; got "x"'],
  ])('of %j describe what is wrong with %j', (schema, value, message) => {
    expect(compileEventSchema({ properties: { a: schema } })({ a: value })).toMatchObject([{ message }])
  })
})

describe('uniqueItems', () => {
  const check = compileEventSchema({ properties: { a: { uniqueItems: true } } })

  it.each([
    [[], true],
    [[1, '1', true, 'true', null, 'null'], true],
    [[1, 2, 1], false],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      false,
    ],
    [[{ a: [1, 2] }, { a: [2, 1] }], true],
    [[[], {}], true],
    [[{ a: { c: 1, d: 2 } }, { a: { d: 2, c: 1 } }], false],
  ])('of %j is %j', (items, unique) => {
    expect(check({ a: items }).length === 0).toBe(unique)
  })

  it('reports the expected and the received value', () => {
    expect(check({ a: [1, 1] })).toEqual([
      {
        field: 'properties.a',
        rule: 'uniqueItems',
        expected: true,
        actual: [1, 1],
        message: 'must not contain an item twice',
      },
    ])
  })

  it('accepts distinct values, and refuses repeated ones', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.jsonValue(), { minLength: 1, selector: (value) => JSON.stringify(value) }),
        (items) => {
          expect(check({ a: [...items, structuredClone(items[0])] })).toHaveLength(1)
        },
      ),
    )
  })

  it('reads each of ten thousand objects a few times, not once for each other', () => {
    let reads = 0
    const items = Array.from({ length: 10_000 }, (_, index) => ({
      get index() {
        reads += 1
        return index
      },
    }))
    expect(check({ a: items })).toEqual([])
    expect(reads).toBeLessThan(100_000)
  })
})

describe('the format url', () => {
  const check = compileEventSchema({ properties: { at: { type: 'string', format: 'url' } } })
  it.each(['https://shop.example/shoes?size=42', 'http://127.0.0.1:8080', 'ftp://files.example/a'])(
    'accepts %s',
    (at) => expect(check({ at })).toEqual([]),
  )
  it.each(['shop.example', 'javascript:alert(1)', 'https://shop.example/red shoes', 'http://', ''])(
    'refuses %j',
    (at) => expect(check({ at })).toMatchObject([{ field: 'properties.at', rule: 'format' }]),
  )
  it('checks a megabyte of an almost valid URL quickly', () => {
    expect(check({ at: `http://a${':'.repeat(1_000_000)} ` })).toHaveLength(1)
  })
})

describe('the format date-time', () => {
  const check = compileEventSchema({ properties: { at: { format: 'date-time' } } })
  it.each(['2026-01-31T12:00:00Z', '2026-01-31t12:00:00.5z', '2026-01-31T12:00:00+05:30'])(
    'accepts %s',
    (at) => expect(check({ at })).toEqual([]),
  )
  it.each([
    '2026-01-31T12:00:00',
    '2026-01-31T12:00:00+0530',
    '2026-01-31T12:00:00+05',
    '2026-02-30T12:00:00Z',
  ])('refuses %s', (at) => expect(check({ at })).toMatchObject([{ field: 'properties.at', rule: 'format' }]))
})

describe('multipleOf', () => {
  const check = compileEventSchema({ properties: { price: { multipleOf: 0.01 } } })
  it.each([19.99, 4.35, 0.07, 1_000_000.01])('accepts %d as a multiple of 0.01', (price) =>
    expect(check({ price })).toEqual([]),
  )
  it('reports the expected and the received value', () => {
    expect(check({ price: 4.355 })).toMatchObject([
      { field: 'properties.price', expected: 0.01, message: 'must be a multiple of 0.01; got 4.355' },
    ])
  })
})

it('takes only members of the event for properties, also when they are called constructor', () => {
  const check = compileEventSchema({
    required: ['toString'],
    properties: { constructor: { type: 'string' }, valueOf: { type: 'number' } },
  })
  expect(check({})).toMatchObject([{ field: 'properties.toString', rule: 'required' }])
  expect(check({ constructor: 'a', toString: 1 })).toEqual([])
  expect(check({ constructor: 1, toString: 1 })).toMatchObject([{ field: 'properties.constructor' }])
})

describe('the work of a check is bounded', () => {
  const parts = (count: number) => ({
    $defs: { text: { type: 'string' } },
    properties: { a: { items: { allOf: Array.from({ length: count }, () => ({ $ref: '#/$defs/text' })) } } },
  })

  it('for every schema of a list', () => {
    const check = compileEventSchema(parts(3_000))
    const items = Array.from({ length: 10_000 }, () => 1)
    expect(check({ a: items })).toMatchObject([{ field: 'properties', rule: 'too_complex' }])
  })

  it('from the first value that is too many for its number of parts', () => {
    const ofParts = (count: number) =>
      compileEventSchema({
        properties: Object.fromEntries(Array.from({ length: count - 2 }, (_, n) => [`p${n}`, {}])),
      })
    const weighing = (weight: number) => ({ a: Array.from({ length: weight - 2 }, () => 1) })
    expect(ofParts(123)(weighing(16_260))).toEqual([])
    expect(ofParts(123)(weighing(16_261))).toMatchObject([{ rule: 'too_complex' }])
    // The maximum that fits into an event.
    expect(ofParts(122)(weighing(16_384))).toEqual([])
  })

  it('but not for large events with ordinary schemas', () => {
    const check = compileEventSchema(parts(100))
    expect(check({ a: Array.from({ length: 5_000 }, () => 'text') })).toEqual([])
  })

  it('also in its messages: long expectations are truncated', () => {
    const values = Array.from({ length: 3_000 }, (_, index) => `value number ${index}`)
    const found = compileEventSchema({ properties: { a: { enum: values } } })({ a: 1 })
    expect(found).toMatchObject([{ field: 'properties.a', rule: 'enum', actual: 1 }])
    expect(JSON.stringify(found).length).toBeLessThan(1_000)
  })
})
