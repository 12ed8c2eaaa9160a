import { describe, expect, it } from 'vitest'
import { logicData } from '../logic/compile-logic.ts'
import { WorkBudget } from '../logic/work-budget.ts'
import { compileCondition, missingIn } from './condition.ts'

const dataOf = (traits: Record<string, unknown>) => ({ traits, context: {}, counts: {} })
const age = { var: 'traits.age' }

describe('a comparison', () => {
  const holds = (condition: unknown, traits: Record<string, unknown>): boolean =>
    compileCondition(condition).evaluate(logicData(dataOf(traits)), new WorkBudget()) === 'holds'

  it.each([
    [{ '<': [age, 18] }, {}, true],
    [{ '<=': [age, 18] }, { age: null }, true],
    [{ '>': [age, 18] }, {}, false],
    [{ '<': [age, 18] }, { age: 'unknown' }, false],
    [{ '<': [age, 18] }, { age: '7' }, true],
    [{ and: [{ '!=': [age, null] }, { '<': [age, 18] }] }, {}, false],
    [{ and: [{ '!=': [age, null] }, { '<': [age, 18] }] }, { age: 7 }, true],
    [{ '<': [{ var: ['traits.age', 99] }, 18] }, {}, false],
  ])('%j of %j: %j', (condition, traits, expected) => {
    expect(holds(condition, traits)).toBe(expected)
  })
})

describe('missingIn', () => {
  it.each([
    [{ '<': [age, 18] }, {}, ['traits.age']],
    [{ '<': [age, 18] }, { age: null }, ['traits.age']],
    [{ '<': [age, 18] }, { age: 0 }, []],
    [{ '<': [{ val: ['traits', 'a.b'] }, 18] }, { 'a.b': 1 }, []],
    [{ and: [{ '<': [age, 18] }, { '>': [age, 5] }, { var: 'context.x' }] }, {}, ['traits.age', 'context.x']],
    [{ var: ['traits.age', 99] }, {}, []],
    [{ some: [{ var: 'traits.tags' }, { '==': [{ var: '' }, 'a'] }] }, { tags: [] }, []],
    [{ var: 'counts.order.30d' }, {}, []],
    [null, {}, []],
  ])('of %j in %j: %j', (condition, traits, expected) => {
    expect(missingIn(condition, dataOf(traits))).toEqual(expected)
  })
})
