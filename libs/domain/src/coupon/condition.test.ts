import { expect, it } from 'vitest'
import { compileCondition, MAX_COMPILED_CHARACTERS } from './condition.ts'

const conditionOf = (text: string) => ({ '==': [{ var: 'traits.plan' }, text] })

it('keeps a condition compiled until too many others were used', () => {
  const first = compileCondition(conditionOf('pro'))
  expect(compileCondition(conditionOf('pro'))).toBe(first)
  expect(compileCondition(conditionOf('team'))).not.toBe(first)
  const overhead = JSON.stringify(conditionOf('')).length
  const rest = MAX_COMPILED_CHARACTERS - 2 * overhead - 'pro'.length - 'team'.length
  const long = conditionOf('x'.repeat(rest - overhead))
  // It fits exactly beside both, so nothing is evicted. The next one evicts it, as the one used least recently.
  const compiled = compileCondition(long)
  expect(compileCondition(conditionOf('pro'))).toBe(first)
  const team = compileCondition(conditionOf('team'))
  compileCondition(conditionOf('y'))
  expect(compileCondition(conditionOf('pro'))).toBe(first)
  expect(compileCondition(conditionOf('team'))).toBe(team)
  expect(compileCondition(long)).not.toBe(compiled)
})
