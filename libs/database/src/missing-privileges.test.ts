import { expect, it } from 'vitest'
import { privilegesOf } from './missing-privileges.ts'

it('lists the privileges of grants one by one', () => {
  expect(privilegesOf({ tables: { 'a.b': 'SELECT, UPDATE (c, d_e), DELETE', 'a.f': 'SELECT (g)' } })).toEqual(
    [
      { table: 'a.b', privilege: 'SELECT', column: null },
      { table: 'a.b', privilege: 'UPDATE', column: 'c' },
      { table: 'a.b', privilege: 'UPDATE', column: 'd_e' },
      { table: 'a.b', privilege: 'DELETE', column: null },
      { table: 'a.f', privilege: 'SELECT', column: 'g' },
    ],
  )
})
