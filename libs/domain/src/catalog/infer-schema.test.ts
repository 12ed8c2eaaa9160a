import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileEventSchema, usabilityProblems } from './event-validation.ts'
import { createSchemaInference } from './infer-schema.ts'

type Properties = Record<string, unknown>

const inferred = (events: readonly Properties[]) => {
  const inference = createSchemaInference()
  for (const event of events) inference.add(event)
  return inference.schema()
}
const times = (count: number, make: (n: number) => Properties) =>
  Array.from({ length: count }, (_, n) => make(n))

const names = fc.constantFrom(
  'a',
  'b',
  'price',
  '__proto__',
  'constructor',
  'toString',
  'items',
  '/',
  '~1',
  '',
)
const texts = fc.constantFrom(
  '2026-01-01T00:00:00Z',
  '2026-01-01',
  'a@b.example',
  'https://b.example/',
  'x',
  '',
  '9',
)
const { value: json } = fc.letrec<{ value: unknown; object: Properties }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    texts,
    fc.string(),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(names, tie('value'), { maxKeys: 5 }),
}))
const anEvent = fc.dictionary(fc.oneof(names, fc.string()), json, { maxKeys: 8 })
// As read from the database.
const stored = (events: Properties[]) => JSON.parse(JSON.stringify(events)) as Properties[]

describe('inferring a schema', () => {
  it('always returns a schema that can be saved and matches the sampled events', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anEvent, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 8 }),
        async (made, repeat) => {
          const events = stored(made).flatMap((event) => times(repeat, () => event))
          const schema = inferred(events)
          expect(await usabilityProblems(schema)).toEqual([])
          const check = compileEventSchema(schema)
          for (const event of events) expect(check(event)).toEqual([])
        },
      ),
      { numRuns: 50 },
    )
  })

  it('requires members that are always present, and distinguishes integers from numbers', () => {
    expect(
      inferred([
        { total: 1, weight: 1 },
        { total: 2, weight: 0.5, note: 'x' },
      ]),
    ).toEqual({
      type: 'object',
      properties: { note: { type: 'string' }, total: { type: 'integer' }, weight: { type: 'number' } },
      required: ['total', 'weight'],
    })
  })

  it('detects formats that all strings have', () => {
    const at = '2026-11-21T04:00:00Z'
    const { properties } = inferred([
      { at, email: 'a@b.example', mixed: at },
      { at, email: 'c@d.example', mixed: 'soon' },
    ]) as { properties: Record<string, unknown> }
    expect(properties).toEqual({
      at: { type: 'string', format: 'date-time' },
      email: { type: 'string', format: 'email' },
      mixed: { type: 'string' },
    })
  })

  it('enumerates strings only if they are few and repeated', () => {
    const few = inferred(
      times(20, (n) => ({ plan: n % 2 ? 'free' : 'paid', id: `id-${n}`, maybe: n % 2 ? 'yes' : null })),
    )
    expect(few.properties).toEqual({
      plan: { type: 'string', enum: ['free', 'paid'] },
      id: { type: 'string' },
      maybe: { type: ['null', 'string'], enum: ['yes', null] },
    })
    expect(inferred(times(4, () => ({ plan: 'free' }))).properties).toEqual({ plan: { type: 'string' } })
    const eleven = inferred(times(110, (n) => ({ city: `city ${n % 11}` })))
    expect(eleven.properties).toEqual({ city: { type: 'string' } })
  })

  it('treats varying names as data, and does not describe deep values', () => {
    expect(inferred(times(201, (n) => ({ [`id-${n}`]: 1 })))).toEqual({ type: 'object' })
    let deep: Properties = { end: 1 }
    for (let level = 0; level < 18; level++) deep = { deep }
    expect(compileEventSchema(inferred([deep]))(deep)).toEqual([])
  })

  it('keeps a bounded number of positions, without the deepest', async () => {
    // Each event uses other member names in the same two hundred objects.
    const event = (n: number): Properties => ({
      order: { total: 1 },
      ...Object.fromEntries(
        Array.from({ length: 190 }, (_, m) => [`m${m}`, { [`k${n % 190}`]: { [`l${n}`]: {} } }]),
      ),
    })
    const inference = createSchemaInference()
    for (let n = 0; n < 400; n++) inference.add(event(n))
    const schema = inference.schema()
    expect(await usabilityProblems(schema)).toEqual([])
    expect(schema.properties).toMatchObject({ order: { type: 'object' } })
    expect(Object.keys(schema.properties as object)).toHaveLength(191)
    expect(compileEventSchema(schema)(event(0))).toEqual([])
  })

  it('describes the items of lists', () => {
    expect(inferred([{ items: [{ sku: 'a', n: 1 }, { sku: 'b' }], tags: [] }])).toEqual({
      type: 'object',
      properties: {
        items: {
          type: 'array',
          items: {
            type: 'object',
            properties: { n: { type: 'integer' }, sku: { type: 'string' } },
            required: ['sku'],
          },
        },
        tags: { type: 'array' },
      },
      required: ['items', 'tags'],
    })
  })
})
