import { expect, it } from 'vitest'
import { placeOf } from './changes.ts'

it('names the place of a change', () => {
  expect(placeOf('/status')).toBe('status')
  expect(placeOf('/rules/0/rollout')).toBe('rules 1 › rollout')
  expect(placeOf('/rules/9/split/0/weight')).toBe('rules 10 › split 1 › weight')
  expect(placeOf('/variants/1/value/a~1b~0c')).toBe('variants 2 › value › a/b~c')
  expect(placeOf('/0')).toBe('0')
})
