import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OPERATIONS } from './check-logic.ts'
import { compileLogic, MAX_STEPS, requireUsableLogic } from './compile-logic.ts'

const nested = (levels: number) => JSON.parse(`${'{"!":'.repeat(levels)}true${'}'.repeat(levels)}`)
/** Logic of so many bytes. */
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
    expect(() => requireUsableLogic(logic)).not.toThrow()
  })

  it('may have 8 KiB', () => {
    expect(() => requireUsableLogic(ofBytes(8 * 1024))).not.toThrow()
    expect(() => requireUsableLogic(ofBytes(8 * 1024 + 1))).toThrow('The filter cannot be used')
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
    expect(() => requireUsableLogic(logic)).toThrow('The filter cannot be used')
    expect(() => compileLogic(logic)).toThrow()
  })

  it('runs nothing of what is refused', () => {
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
    expect(() => requireUsableLogic(logic)).toThrow()
    expect(globalThis).not.toHaveProperty('wasRun')
  })

  it('reads nothing but what it was given, and never throws once it is compiled', () => {
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
        expect(compiled.holds(data)).toBeTypeOf('boolean')
        expect(JSON.stringify(data)).toBe(before)
      }),
      { numRuns: 2_000 },
    )
  })

  it('weighs what it goes through, and nothing else', () => {
    const heavy = () => MAX_STEPS
    expect(compileLogic({ '==': [{ var: 'a' }, 1] }).mostSteps(heavy)).toBeLessThan(10)
    expect(compileLogic({ some: [{ var: 'a' }, true] }).mostSteps(heavy)).toBeGreaterThan(MAX_STEPS)
    expect(compileLogic({ in: ['a', { merge: [{ var: 'a' }] }] }).mostSteps(heavy)).toBeGreaterThan(MAX_STEPS)
  })
})
