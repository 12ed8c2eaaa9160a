import {
  MAX_SCHEMA_BYTES,
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_PARTS,
  MAX_SCHEMA_PATTERNS,
} from '@waymark/contracts/http/event-definitions'
import { describe, expect, it, vi } from 'vitest'
import { isQuickToCheck, MAX_SCHEMA_NODES, partsOf, runCost, schemaProblems } from './schema-safety.ts'

const nested = (levels: number): object => {
  let schema: object = {}
  for (let level = 1; level < levels; level++) schema = { not: schema }
  return schema
}

/** Each definition refers to the next one twice: the number of parts doubles with each line. */
const doubling = (lines: number): object => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: lines }, (_, n) => [
      `d${n}`,
      n === lines - 1 ? {} : { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  ),
})

/** Each member and its keyword are two parts, in addition to `properties` itself. */
const partsInMembers = (parts: number): object => ({
  properties: Object.fromEntries(
    Array.from({ length: Math.ceil((parts - 1) / 2) }, (_, n) => [
      `p${n}`,
      2 * n + 2 < parts ? { type: 'string' } : {},
    ]),
  ),
})

const withPatterns = (count: number, patternOf: (n: number) => string): object => ({
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`p${n}`, { pattern: patternOf(n) }]),
  ),
})

/** The pattern of the HTML standard; the length makes each one different. */
const emailPattern = (n: number): string => {
  const label = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
  return `^[a-zA-Z0-9.!#$%&'*+/=?^_\`{|}~-]{1,${n + 1}}@${label}(?:\\.${label})*$`
}

/** The analysis takes one step per letter, and one at the end. */
const LONGEST_PATTERN = 999

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
    [`of ${MAX_SCHEMA_PARTS} parts`, partsInMembers(MAX_SCHEMA_PARTS)],
    [`with ${MAX_SCHEMA_PATTERNS} ordinary email patterns`, withPatterns(MAX_SCHEMA_PATTERNS, emailPattern)],
    ['with lookaheads at the start', { pattern: '^(?=.*[A-Z])(?!.*\\s)(?=.{8,}$).+$' }],
    ['with short lookarounds', { pattern: '^a(?![*+]{2})(?=\\*.{0,9})[)(]?(?<!\\()$' }],
    ['with the same pattern everywhere', withPatterns(MAX_SCHEMA_PATTERNS + 1, () => '^[A-Z]+$')],
    ['with a pattern that takes all steps', { pattern: `^${'a'.repeat(LONGEST_PATTERN)}$` }],
  ])('%s', async (_what, schema) => {
    expect(await schemaProblems(schema)).toEqual([])
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
    ['with a reference to nothing', { $ref: '#/$defs/a' }, 'must point to a schema'],
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
    ['with a lookahead that reads to the end', { pattern: '(?=.*a)' }, 'lookahead'],
    ['with a lookahead that follows another part', { pattern: '^.?(?![^]{9,}a)' }, 'lookahead'],
    ['with a lookahead in a second alternative', { pattern: '^(?=.*a)|(?=.*b)' }, 'lookahead'],
    ['with a lookahead that has limits', { pattern: 'x(?=(?:.{0,50}){20})' }, 'lookahead'],
    ['with a lookbehind that reads to the start', { pattern: '(?<=a.*)b' }, 'lookbehind'],
    ['with an exponential property pattern', { patternProperties: { '(x+x+)+y': {} } }, 'exponential'],
    ['with what is no pattern', { pattern: '(' }, 'no regular expression'],
    ['with a needless escape', { pattern: '^a\\_b$' }, 'write _ instead of \\_ at position 3'],
    ['with an escaped hyphen', { pattern: '^[a\\-z]\\-$' }, 'write - instead of \\- at position 8'],
    [
      `of ${MAX_SCHEMA_PARTS + 1} parts`,
      partsInMembers(MAX_SCHEMA_PARTS + 1),
      `has ${MAX_SCHEMA_PARTS + 1} keywords and members, of which ${MAX_SCHEMA_PARTS} are allowed`,
    ],
    [
      `with ${MAX_SCHEMA_PATTERNS + 1} patterns`,
      withPatterns(MAX_SCHEMA_PATTERNS + 1, (n) => `^a{${n}}$`),
      `has ${MAX_SCHEMA_PATTERNS + 1} different patterns, of which ${MAX_SCHEMA_PATTERNS} are allowed`,
    ],
    [
      'with a pattern that takes a step too many',
      { pattern: `^${'a'.repeat(LONGEST_PATTERN + 1)}$` },
      'too complex to tell',
    ],
  ])('%s', async (_what, schema, why) => {
    expect((await schemaProblems(schema))[0]?.message).toContain(why)
  })
})

describe('whether a pattern is safe', () => {
  it('does not depend on the time that the analysis takes', async () => {
    const clock = vi.spyOn(Date, 'now')
    let now = 0
    clock.mockImplementation(() => {
      now += 60_000
      return now
    })
    try {
      expect(await schemaProblems(withPatterns(20, emailPattern))).toEqual([])
    } finally {
      clock.mockRestore()
    }
  })
})

describe('a schema with names that every object has', () => {
  const names = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__']

  it('is limited as any other', async () => {
    const members = Array.from({ length: MAX_SCHEMA_PARTS }, (_, n) => [`p${n}`, { type: 'string' }])
    for (const name of names) {
      const schema = JSON.parse(
        `{"properties":{${JSON.stringify(name)}:{"format":"email"},${JSON.stringify(Object.fromEntries(members)).slice(1)}}`,
      )
      expect(partsOf(schema)).toBe(2 * MAX_SCHEMA_PARTS + 5)
      expect(runCost(schema)).toBeGreaterThan(MAX_SCHEMA_PARTS)
      expect(await schemaProblems(schema)).toMatchObject([{ message: expect.stringContaining('keywords') }])
    }
  })
})

describe('a schema that is quick to check', () => {
  it('has up to 4 KiB', () => {
    const ofBytes = (bytes: number): object => {
      const empty = JSON.stringify({ title: '' }).length
      return { title: 'x'.repeat(bytes - empty) }
    }
    expect(isQuickToCheck(ofBytes(4_096))).toBe(true)
    expect(isQuickToCheck(ofBytes(4_097))).toBe(false)
  })

  it('is also one that is refused for its depth', () => {
    expect(isQuickToCheck(nested(100_000))).toBe(true)
  })

  it('has no pattern', () => {
    expect(isQuickToCheck({ properties: { a: { type: 'string', format: 'email' } } })).toBe(true)
    expect(isQuickToCheck({ properties: { a: { pattern: 'a' } } })).toBe(false)
    expect(isQuickToCheck({ anyOf: [{ patternProperties: { a: {} } }] })).toBe(false)
  })
})
