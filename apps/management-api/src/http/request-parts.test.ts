import { compileValidator } from '@waymark/contracts/validator'
import { Type } from 'typebox'
import { expect, it } from 'vitest'
import { unfitQuery } from './request-parts.ts'

const query = compileValidator(Type.Object({ from: Type.String({ format: 'date-time' }) }))
const messageFor = (from: string): string => {
  const problem = query.check({ from })
  return problem ? unfitQuery(problem).message : ''
}

it('says how to write the offset of a time whose plus sign became a space', () => {
  expect(messageFor('2026-01-31T12:00:00 02:00')).toContain('Write + as %2B in a query')
  expect(messageFor('2026-01-31T12:00:00.5 0200')).toContain('Write + as %2B in a query')
  expect(messageFor('2026-01-31 noon')).not.toContain('%2B')
  expect(messageFor('2026-01-31T12:00:00+02:00')).toBe('')
})
