import { describe, expect, it } from 'vitest'
import { compileEventSchema, usabilityProblems } from './event-validation.ts'
import { unsupportedKeywords, vocabularyProblem } from './schema-vocabulary.ts'

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#'
const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema'

describe('a schema may hold', () => {
  it.each([
    ['every kind of keyword', { $comment: 'c', title: 't', allOf: [{ required: ['a'] }], properties: {} }],
    ['properties that are named like keywords', { properties: { $async: { type: 'string' }, nullable: {} } }],
    ['any value in const, enum, default and examples', { const: { $async: true }, examples: [{ $ref: 5 }] }],
    ['annotations that start with x-', { 'x-owner': { $async: true } }],
    ['a property named __proto__', JSON.parse('{"properties":{"__proto__":{"type":"string"}}}')],
    ['a reference to a member with a slash', { $ref: '#/$defs/a~1b', $defs: { 'a/b': {} } }],
    ['a reference to a member with a percent sign', { $ref: '#/$defs/a%25', $defs: { 'a%': {} } }],
    ['the draft without its hash', { $schema: 'http://json-schema.org/draft-07/schema' }],
    ['the draft with https', { $schema: 'https://json-schema.org/draft-07/schema#' }],
    ['the draft 2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema' }],
    [
      'a description next to $ref in draft-07',
      {
        $schema: DRAFT_07,
        $ref: '#/definitions/a',
        description: 'd',
        definitions: { a: {} },
      },
    ],
  ])('%s', async (_what, schema) => {
    expect(await usabilityProblems(schema)).toEqual([])
  })
})

describe('a schema is refused with', () => {
  it.each([
    ['$async', { $async: true }, 'schema', '"$async"'],
    ['$async in a property', { properties: { a: { $async: true } } }, 'schema.properties.a', '"$async"'],
    [
      '$async behind every applicator',
      { allOf: [{ not: { $async: true } }] },
      'schema.allOf.0.not',
      '"$async"',
    ],
    ['$async in unused definitions', { $defs: { a: { $async: true } } }, 'schema.$defs.a', '"$async"'],
    ['nullable', { type: 'string', nullable: true }, 'schema', '["string", "null"]'],
    ['discriminator', { discriminator: { propertyName: 'a' } }, 'schema', '"discriminator"'],
    ['an id', { $id: 'https://example.com/s' }, 'schema', '"$id"'],
    ['an anchor', { $anchor: 'a' }, 'schema', '"$anchor"'],
    ['a dynamic reference', { $dynamicRef: '#a', $dynamicAnchor: 'a' }, 'schema', '"$dynamicRef"'],
    ['a recursive reference', { $schema: DRAFT_2019, $recursiveRef: '#' }, 'schema', '"$recursiveRef"'],
    ['a keyword of Object', JSON.parse('{"constructor":{}}'), 'schema', '"constructor"'],
    ['a misspelled keyword', { requierd: ['a'] }, 'schema', 'required'],
    ['a keyword of a later draft', { $schema: DRAFT_07, unevaluatedProperties: false }, 'schema', 'draft-07'],
    ['a keyword of an older draft', { prefixItems: [{}], additionalItems: {} }, 'schema', 'prefixItems'],
    ['a list of items', { items: [{}] }, 'schema.items', 'prefixItems'],
    ['an inner $schema', { properties: { a: { $schema: DRAFT_07 } } }, 'schema.properties.a', 'root'],
    [
      'a constraint next to $ref in draft-07',
      {
        $schema: DRAFT_07,
        $ref: '#/definitions/a',
        minLength: 1,
        definitions: { a: {} },
      },
      'schema',
      'allOf',
    ],
  ])('%s', (_what, schema, field, message) => {
    expect(vocabularyProblem(schema)).toMatchObject({
      field,
      rule: 'unsupported_keyword',
      message: expect.stringContaining(message),
    })
  })

  it.each([
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/schema#',
    'https://example.com/own',
    'constructor',
    'https://__proto__#',
    '',
    7,
    null,
    { a: 1 },
  ])('the draft %j, naming the supported ones', async ($schema) => {
    expect(await usabilityProblems({ $schema })).toMatchObject([
      { field: 'schema.$schema', message: expect.stringContaining('draft/2020-12/schema') },
    ])
  })

  it.each([
    ['that leaves the schema', 'https://example.com/s.json'],
    ['to a name', '#address'],
    ['that is no text', 5],
    ['to a property list', '#/properties'],
    ['to an example', '#/examples/0'],
    ['to nothing', '#/$defs/b'],
    ['to a member of Object', '#/$defs/constructor'],
  ])('a reference %s', (_what, $ref) => {
    const schema = { properties: { a: { $ref } }, $defs: {}, examples: [{ $async: true }] }
    expect(vocabularyProblem(schema)).toMatchObject({
      field: 'schema.properties.a.$ref',
      rule: 'unsafe_schema',
    })
  })

  it('a format that is not checked', async () => {
    expect(await usabilityProblems({ properties: { at: { format: 'datetime' } } })).toMatchObject([
      { field: 'schema.properties.at.format', message: expect.stringMatching(/date-time.*got "datetime"/) },
    ])
  })
})

describe('a schema means what its draft says', () => {
  const list = [{ type: 'string' }, { type: 'integer' }]
  const fits = (schema: object, value: unknown) => compileEventSchema(schema)({ a: value }).length === 0
  const usable = async (schema: object) => expect(await usabilityProblems(schema)).toEqual([])

  it('for lists of items', async () => {
    const old = { items: list, additionalItems: false }
    for (const schema of [
      { $schema: DRAFT_07, properties: { a: old } },
      { $schema: 'http://json-schema.org/draft-06/schema#', properties: { a: old } },
      { $schema: DRAFT_2019, properties: { a: old } },
      { properties: { a: { prefixItems: list, items: false } } },
    ]) {
      await usable(schema)
      expect(fits(schema, ['x', 1])).toBe(true)
      expect(fits(schema, ['x', 'y'])).toBe(false)
      expect(fits(schema, ['x', 1, 2])).toBe(false)
    }
  })

  it('for dependencies and conditions', async () => {
    const schema = {
      $schema: DRAFT_07,
      dependencies: { a: ['b'] },
      if: { properties: { a: { const: 1 } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { maxProperties: 2 },
    }
    await usable(schema)
    expect(compileEventSchema(schema)({ a: 1 })).toMatchObject([{ field: 'properties.b' }])
    expect(compileEventSchema(schema)({ a: 1, b: 1, c: 1 })).toMatchObject([{ rule: 'maxProperties' }, {}])
    expect(compileEventSchema(schema)({ a: 2, b: 1, c: 1 })).toEqual([])
  })
})

describe('a stored schema of an earlier version', () => {
  it('is checked without its unsupported keywords', () => {
    const schema = { $async: true, required: ['a'], properties: { a: { type: 'string', units: 'm' } } }
    const check = compileEventSchema(schema)
    expect(check({ a: 'x' })).toEqual([])
    expect(check({})).toMatchObject([{ rule: 'required' }])
    expect(unsupportedKeywords(schema)).toEqual(['$async', 'units'])
  })

  it('still accepts null where nullable was saved', () => {
    const check = compileEventSchema({ properties: { a: { type: 'string', nullable: true } } })
    expect(check({ a: null })).toEqual([])
    expect(check({ a: 1 })).toHaveLength(1)
  })
})
