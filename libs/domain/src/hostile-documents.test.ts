import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fulfils, parseFilter } from './analytics/event-filter.ts'
import { compileEventSchema, usabilityProblems } from './catalog/event-validation.ts'
import { unsupportedKeywords } from './catalog/schema-vocabulary.ts'
import { compileCondition, conditionProblems, missingIn } from './decision/condition.ts'
import { compileMessage, TemplateError } from './email/message-template.ts'
import { OPERATIONS } from './logic/check-logic.ts'
import { logicData, logicProblems } from './logic/compile-logic.ts'
import { WorkBudget } from './logic/work-budget.ts'

// Documents of tenants: whatever they contain, they are accepted or refused, and nothing throws or waits for ever.

/** JSON whose objects often have names with a meaning. */
const documentOf = (names: readonly string[], texts: readonly string[]): fc.Arbitrary<unknown> =>
  fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6, depthSize: 'small' },
      fc.constantFrom(...texts, '', '__proto__', '\ud800', '\0', null, true, false, 0, -1, 0.1, 1e308),
      fc.string({ maxLength: 5 }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names, 'a', '', '__proto__', 'constructor'), tie('value'), {
        maxKeys: 3,
      }),
    ),
  })).value

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

describe('an event schema', () => {
  const KEYWORDS = (
    '$async $data $id $anchor $ref $schema $defs $dynamicRef $recursiveRef id nullable ' +
    'discriminator unevaluatedProperties unevaluatedItems additionalProperties type enum const ' +
    'multipleOf minimum pattern patternProperties format required properties items prefixItems ' +
    'contains allOf anyOf oneOf not if else dependencies dependentSchemas dependentRequired ' +
    'uniqueItems maxLength propertyNames'
  ).split(' ')
  const TEXTS = (
    '# #/$defs/a #/properties/a #/% #a http://x.example/s string object array ' +
    'http://json-schema.org/draft-07/schema# https://json-schema.org/draft/2019-09/schema date-time ' +
    'regex uri (a+)+$ [ ^[a-z]+$ a number'
  ).split(' ')
  const schemas = documentOf(KEYWORDS, TEXTS).filter(isObject)
  const values = fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), fc.jsonValue({ maxDepth: 3 }))

  it('is accepted or refused, and checks every event when it is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(schemas, values, async (schema, properties) => {
        const problems = await usabilityProblems(schema)
        expect(Array.isArray(problems)).toBe(true)
        if (problems.length === 0) expect(Array.isArray(compileEventSchema(schema)(properties))).toBe(true)
      }),
      { numRuns: 40 },
    )
  })

  it('of an earlier version returns no promise and throws for no event', () => {
    fc.assert(
      fc.property(schemas, values, (schema, properties) => {
        unsupportedKeywords(schema)
        let check: ReturnType<typeof compileEventSchema>
        try {
          check = compileEventSchema(schema)
        } catch (error) {
          // The configuration of the project is used without it.
          expect(error).toBeInstanceOf(Error)
          return
        }
        expect(Array.isArray(check(properties))).toBe(true)
      }),
      { numRuns: 40 },
    )
  })
})

describe('JsonLogic', () => {
  const PATHS = ['traits.a', 'context.b', 'counts.order.30d', 'a.b.c', 'constructor', 'toString']
  const logics = documentOf([...OPERATIONS, 'segment', 'log', 'throw', 'try', 'preserve'], PATHS)
  const data = fc.record({ traits: fc.dictionary(fc.constantFrom('a', 'b'), fc.jsonValue({ maxDepth: 2 })) })

  it('is accepted or refused, and evaluates to a verdict when it is accepted', () => {
    fc.assert(
      fc.property(logics, data, (logic, { traits }) => {
        expect(Array.isArray(logicProblems(logic, 'filter'))).toBe(true)
        const values = { traits, context: {}, counts: {} }
        expect(Array.isArray(missingIn(logic, values))).toBe(true)
        if (conditionProblems(logic, 'condition').length > 0) return
        const verdict = compileCondition(logic).evaluate(logicData(values), new WorkBudget())
        expect(['holds', 'fails', 'exceeded']).toContain(verdict)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a template', () => {
  const PIECES = (
    '{{|}}|{{{|}}}|{{traits.name}}|{{#each traits}}|{{/each}}|{{#if a}}|{{else}}|{{/if}}|' +
    '{{> partial}}|{{#*inline "a"}}|{{lookup this "constructor"}}|{{@root}}|{{!--|' +
    '{{#with __proto__}}|{{/with}}|{{this}}|\\{{|{{[a b]}}|{{log 1}}|{{~|<b|</body>'
  ).split('|')
  const templates = fc
    .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 5 })), { maxLength: 8 })
    .map((pieces) => pieces.join(''))

  it('renders, or is refused with its field', async () => {
    await fc.assert(
      fc.asyncProperty(templates, templates, fc.jsonValue({ maxDepth: 3 }), async (subject, html, name) => {
        const context = {
          traits: { name },
          event: {},
          profile: {},
          project: {},
          unsubscribeUrl: 'https://u.example',
        }
        const work = async () => (await compileMessage({ subject, html }))(context)
        const result = await work().catch((error: unknown) => error)
        if (!(result instanceof TemplateError)) expect(result).toHaveProperty('html')
      }),
      { numRuns: 100 },
    )
  })
})

describe('a filter', () => {
  const OPS = [
    'eq',
    'neq',
    'in',
    'not_in',
    'gt',
    'lte',
    'contains',
    'starts_with',
    'exists',
    'not_exists',
  ] as const
  const scalars = fc.oneof(fc.string({ maxLength: 3 }), fc.double(), fc.boolean())

  it('is accepted or refused, and applies to every value when it is accepted', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((path) => `properties.${path}`),
        ),
        fc.constantFrom(...OPS),
        fc.option(fc.oneof(scalars, fc.array(scalars, { maxLength: 3 })), { nil: undefined }),
        fc.jsonValue({ maxDepth: 2 }),
        (property, op, value, given) => {
          const parsed = parseFilter({ property, op, value })
          if ('test' in parsed) expect(fulfils(given, parsed)).toBeTypeOf('boolean')
          else expect(parsed.message).not.toBe('')
        },
      ),
    )
  })
})
