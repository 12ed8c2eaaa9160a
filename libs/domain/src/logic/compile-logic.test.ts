import fc from 'fast-check'
import { LogicEngine } from 'json-logic-engine'
import { describe, expect, it } from 'vitest'
import { OPERATIONS } from './check-logic.ts'
import { compileLogic, logicData, logicProblems, MAX_STEPS, STEP_COST } from './compile-logic.ts'
import { WorkBudget } from './work-budget.ts'

const nested = (levels: number) => JSON.parse(`${'{"!":'.repeat(levels)}true${'}'.repeat(levels)}`)
/** Logic with the given number of bytes. */
const ofBytes = (bytes: number) => ({ in: ['x'.repeat(bytes - '{"in":["","x"]}'.length), 'x'] })

describe('logic', () => {
  it.each([
    true,
    { '==': [1, 1] },
    { var: 'properties.total' },
    { var: ['properties.total', { var: 'properties.sum' }] },
    { val: ['counts', 'order_placed', '30d'] },
    { some: [{ var: 'properties.items' }, { '>': [{ var: 'price' }, { var: '../../limit' }] }] },
    { '>': [{ reduce: [{ var: 'items' }, { '+': [{ var: 'current' }, { var: 'accumulator' }] }, 0] }, 9] },
    { reduce: [{ var: 'items' }, { in: [{ var: 'current' }, ['a', 'b']] }, [1]] },
    { '!': { missing: ['a', 'b'] } },
    { in: [{ var: 'country' }, ['DE', 'AT']] },
    { '==': [{ cat: [{ var: 'a' }, '-', { var: 'b' }] }, 'x-y'] },
    nested(20),
  ])('may be %j', (logic) => {
    expect(logicProblems(logic, 'filter')).toEqual([])
  })

  it('may have 8 KiB', () => {
    expect(logicProblems(ofBytes(8 * 1024), 'filter')).toEqual([])
    expect(logicProblems(ofBytes(8 * 1024 + 1), 'filter')).toMatchObject([
      { field: 'filter', rule: 'json_logic' },
    ])
  })

  it.each([
    ['an unknown operation', { explode: [1] }],
    ['too deep', nested(21)],
    ['two operations in one object', { '==': [1, 1], '!': [1] }],
    ['an empty object', { '!': [{}] }],
    ['what every object inherits', { constructor: [1] }],
    ['a name that objects use', JSON.parse('{"__proto__":[1]}')],
    ['an operation that runs what others give it', { pipe: [1, { '+': [1] }] }],
    ['an operation that reads by names that come up', { get: [{ preserve: {} }, 'constructor'] }],
    ['an inherited name', { var: 'properties.constructor.name' }],
    ['an inherited name above', { map: [[1], { var: '../constructor' }] }],
    ['an inherited name by itself', { val: ['properties', '__proto__'] }],
    ['an inherited name as a default', { var: ['a', { var: 'toString' }] }],
    ['a path that comes up', { var: { cat: ['con', 'structor'] } }],
    ['paths that come up', { missing: { var: 'properties.names' } }],
    ['a list within a list', { some: [[1], { some: [[2], true] }] }],
    ['a list of lists for each item', { reduce: [[1], [{ var: 'accumulator' }, { var: 'accumulator' }]] }],
    ['a growing list', { reduce: [[1], { merge: [{ var: 'accumulator' }, { var: 'accumulator' }] }, [1]] }],
    ['a growing text', { reduce: [[1], { if: [true, { cat: [{ var: 'accumulator' }, 'x'] }] }, 'x'] }],
  ])('must not have %s', (_what, logic) => {
    expect(logicProblems(logic, 'filter')).toMatchObject([{ field: 'filter', rule: 'json_logic' }])
    expect(() => compileLogic(logic)).toThrow()
  })

  it('evaluates no part of refused logic', () => {
    const logic = {
      pipe: [
        'a=(globalThis.wasRun=true)//',
        { get: ['a', 'constructor.constructor'] },
        { get: [{ preserve: [] }, 'constructor.of'] },
        [['toString', { get: [{ var: '' }, '0'] }]],
        { get: [{ preserve: {} }, 'constructor.fromEntries'] },
        { cat: ['x', { var: '' }] },
      ],
    }
    expect(() => compileLogic(logic)).toThrow()
    expect(logicProblems(logic, 'filter')).toMatchObject([{ field: 'filter', rule: 'json_logic' }])
    expect(globalThis).not.toHaveProperty('wasRun')
  })

  it('reads only its data, and never throws after it was compiled', () => {
    const names = fc.constantFrom('a', 'b', 'a.b', '', 'length', 'at', 'name', '../a', 'call', 'link')
    const { logic } = fc.letrec((tie) => ({
      logic: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null)),
        fc.record({ var: names }),
        fc.record({ val: fc.oneof(names, fc.array(names, { maxLength: 3 })) }),
        fc
          .tuple(fc.constantFrom(...OPERATIONS), fc.array(tie('logic'), { maxLength: 3 }))
          .map(([name, list]) => ({ [name]: list })),
      ),
    }))
    const data = { a: { b: ['abc', 1, { a: 'x' }] }, b: 'text' }
    const before = JSON.stringify(data)
    fc.assert(
      fc.property(logic, (one) => {
        let compiled: ReturnType<typeof compileLogic>
        try {
          compiled = compileLogic(one)
        } catch {
          return
        }
        expect(['holds', 'fails']).toContain(compiled.evaluate(logicData(data), new WorkBudget()))
        expect(JSON.stringify(data)).toBe(before)
      }),
      { numRuns: 2_000 },
    )
  })

  it('means the same, whatever was evaluated before', () => {
    const data = logicData({ list: [1], o: { a: 1 } })
    const evaluate = (logic: unknown) => compileLogic(logic).evaluate(data, new WorkBudget())
    // The engine's optimizer takes the filter for its list, and turns itself off after 500 pieces of logic.
    const logic = { if: [{ var: 'list' }, { filter: [{ var: 'o' }, 1] }] }
    expect(evaluate(logic)).toBe('fails')
    for (let n = 0; n < 600; n++) expect(evaluate({ if: [{ var: 'list' }, { '==': [n, n] }] })).toBe('holds')
    expect(evaluate(logic)).toBe('fails')
  })

  it('returns the same as the underlying engine', () => {
    const plain = new LogicEngine(undefined, {
      maxDepth: Number.POSITIVE_INFINITY,
      disableInline: true,
      disableInterpretedOptimization: true,
    })
    // Nested comparisons are excluded: the engine's code for them overwrites a value that it still needs.
    const compared = ['if', 'and', 'or', '!', '!!', 'substr', 'merge', 'in', 'length', 'max']
    const path = fc.constantFrom('list', 'texts', 'text', 'n', 'o', 'o.a', 'gone', '')
    const literal = fc.constantFrom<unknown>(1, 0, 'a', 'b', '', true, null, 'text')
    const { logic } = fc.letrec((tie) => ({
      logic: fc.oneof(
        { maxDepth: 3 },
        literal,
        fc.record({ var: path }),
        fc
          .tuple(fc.constantFrom(...compared), fc.array(tie('logic'), { minLength: 2, maxLength: 2 }))
          .map(([name, list]) => ({ [name]: list })),
        fc
          .tuple(fc.constantFrom('merge', 'length', '+', 'max', '!', '??'), fc.record({ var: path }))
          .map(([name, part]) => ({ [name]: part })),
        fc
          .tuple(fc.constantFrom('some', 'all', 'none', 'filter', 'map'), path, tie('logic'))
          .map(([name, list, body]) => ({ [name]: [{ var: list }, body] })),
      ),
    }))
    const data = { list: [1, 2, 0], texts: ['a', 'b', ''], text: 'text', n: 3, o: { a: 'b' } }
    // The engine treats objects like lists in boolean contexts, except for some constructors.
    const outcome = (work: () => unknown) => {
      try {
        return plain.truthy(work()) ? 'holds' : 'fails'
      } catch {
        return 'fails'
      }
    }
    fc.assert(
      fc.property(logic, (one) => {
        let compiled: ReturnType<typeof compileLogic>
        let reference: (data: unknown) => unknown
        try {
          compiled = compileLogic(one)
          reference = plain.build(one as object) as typeof reference
        } catch {
          return
        }
        const expected = outcome(() => reference(data))
        expect(compiled.evaluate(logicData(data), new WorkBudget())).toBe(expected)
      }),
      { seed: 1, numRuns: 3_000 },
    )
  })
})

describe('an evaluation is bounded', () => {
  const text = 'x'.repeat(22_000)
  const items = Array.from({ length: 2_500 }, () => 1)
  const wide = Object.fromEntries(items.map((_, n) => [`p${n}`, 1]))
  const each = (body: unknown) => ({ some: [{ var: 'items' }, body] })
  const above = { var: '../../text' }
  const repeated = <T>(part: T, times: number) => Array.from({ length: times }, () => part)
  const data = logicData({ items, text, wide, other: `${'x'.repeat(8_000)}y`, digits: '1'.repeat(22_000) })
  const answerOf = (logic: unknown) => compileLogic(logic).evaluate(data, new WorkBudget())

  it.each([
    ['texts joined for each item', each({ in: ['q', { cat: repeated(above, 40) }] })],
    ['lists joined for each item', each({ '!': { merge: repeated({ var: '../../items' }, 40) } })],
    ['lists of lists as text', { in: ['q', { cat: { map: [{ var: 'items' }, { var: '../../items' }] } }] }],
    ['lists of lists joined', { '!': { merge: { map: [{ var: 'items' }, { var: '../../items' }] } } }],
    ['a text looked for at each place', { in: [{ var: 'other' }, { var: 'text' }] }],
    ['a text looked for in each item', each({ in: ['abc', above] })],
    ['texts compared for each item', each({ or: repeated({ '<': [above, { cat: [above, 'z'] }] }, 50) })],
    [
      'texts read as numbers for each item',
      each({ or: repeated({ '<': [{ var: '../../digits' }, 0] }, 50) }),
    ],
    ['members counted for each item', each({ '<': [{ length: { var: '../../wide' } }, 0] })],
    ['lists added up for each item', each({ '<': [{ '+': { var: '../../items' } }, 0] })],
    ['parts of a text for each item', each({ '==': [{ substr: [above, 0, 21_999] }, 'a'] })],
    ['very much for each item', each({ or: repeated({ '==': [{ var: '' }, 'b'] }, 200) })],
  ])('for %s', (_what, logic) => {
    expect(answerOf(logic)).toBe('exceeded')
  })

  it('and not reached by logic over ordinary lists', () => {
    expect(answerOf(each({ '==': [{ var: '' }, 1] }))).toBe('holds')
    expect(answerOf({ in: ['xyz', { var: 'text' }] })).toBe('fails')
    expect(answerOf({ '>': [{ reduce: [{ var: 'items' }, { '+': [{ var: 'current' }, 1] }, 0] }, 1] })).toBe(
      'holds',
    )
    expect(answerOf(each({ and: repeated({ '!!': { var: '../../wide' } }, 4) }))).toBe('holds')
  })

  it.each([5, true, {}, { length: -1e9 }, { length: 'many' }])(
    'also when it fails, because %j is neither a text nor a list',
    (odd) => {
      for (const logic of [{ in: ['x', { var: 'odd' }] }, { substr: [{ var: 'odd' }, 1] }]) {
        const budget = new WorkBudget(MAX_STEPS * STEP_COST, 0)
        expect(compileLogic(logic).evaluate(logicData({ odd }), budget)).toBe('fails')
        const used = MAX_STEPS * STEP_COST - budget.left
        expect(used).toBeGreaterThan(0)
        expect(used).toBeLessThan(100 * STEP_COST)
      }
    },
  )

  it('by the remaining budget, which it reduces by the work that it used', () => {
    const logic = compileLogic(each({ '==': [{ var: '' }, 2] }))
    const budget = new WorkBudget(MAX_STEPS * STEP_COST, 0)
    expect(logic.evaluate(data, budget)).toBe('fails')
    const used = MAX_STEPS * STEP_COST - budget.left
    expect(used).toBeGreaterThan(items.length)
    expect(logic.evaluate(data, new WorkBudget(used, 0))).toBe('fails')
    expect(logic.evaluate(data, new WorkBudget(used - 1, 0))).toBe('exceeded')
  })
})
