import { describe, expect, it } from 'vitest'
import { MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, schemaProblems } from './schema-safety.ts'

const nested = (levels: number): object => {
  let schema: object = {}
  for (let level = 1; level < levels; level++) schema = { not: schema }
  return schema
}

/** Each definition stands for two of the next: twice as many parts per line. */
const doubling = (lines: number): object => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: lines }, (_, n) => [
      `d${n}`,
      n === lines - 1 ? {} : { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  ),
})

describe('a schema is safe', () => {
  it.each([
    ['an empty one', {}],
    [
      'an ordinary one',
      { type: 'object', required: ['a'], properties: { a: { type: 'string', pattern: '^[A-Z]{3}$' } } },
    ],
    [
      'with a reference into itself',
      { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } },
    ],
    ['with a property that is called $id', { properties: { $id: { type: 'string' } } }],
    [`of ${MAX_SCHEMA_DEPTH} levels`, nested(MAX_SCHEMA_DEPTH)],
    [`of ${MAX_SCHEMA_BYTES} bytes`, { title: 'x'.repeat(MAX_SCHEMA_BYTES - '{"title":""}'.length) }],
    ['whose references stand for some', doubling(8)],
  ])('%s', (_what, schema) => {
    expect(schemaProblems(schema)).toEqual([])
  })
})

describe('a schema is refused', () => {
  it.each([
    ['no object', true, 'must be'],
    [`of ${MAX_SCHEMA_DEPTH + 1} levels`, nested(MAX_SCHEMA_DEPTH + 1), 'deeper'],
    [
      `over ${MAX_SCHEMA_BYTES} bytes`,
      { title: 'x'.repeat(MAX_SCHEMA_BYTES - '{"title":""}'.length + 1) },
      'larger',
    ],
    ['with a remote reference', { items: { $ref: 'https://example.com/s.json' } }, 'only point into'],
    ['with a relative reference', { $ref: 'other.json' }, 'only point into'],
    ['with a reference that is no pointer', { $ref: '#/%' }, 'pointer'],
    ['with an id', { $id: 'https://example.com/s.json' }, '$id'],
    ['with a reference to itself', { properties: { a: { $ref: '#' } } }, 'back to itself'],
    [
      'with a detour to itself',
      {
        $ref: '#/$defs/a',
        $defs: { a: { items: { $ref: '#/$defs/b' } }, b: { not: { $ref: '#/$defs/a' } } },
      },
      'back to itself',
    ],
    [`whose references stand for over ${MAX_SCHEMA_NODES} parts`, doubling(20), 'parts'],
    ['with an exponential pattern', { pattern: '^(a+)+$' }, 'exponential'],
    ['with overlapping alternatives', { pattern: '^(a|a)*b$' }, 'exponential'],
    ['with an exponential property pattern', { patternProperties: { '(x+x+)+y': {} } }, 'exponential'],
    ['with what is no pattern', { pattern: '(' }, 'pattern'],
    [
      'with very many patterns',
      { anyOf: Array.from({ length: 51 }, (_, n) => ({ pattern: `^a{${n}}$` })) },
      'pattern',
    ],
  ])('%s', (_what, schema, why) => {
    expect(schemaProblems(schema)[0]?.message).toContain(why)
  })
})
