import { Type } from 'typebox'
import { expect, it } from 'vitest'
import { pick } from './pick.ts'

it('shows what the schema declares, and nothing else', () => {
  const View = Type.Object({ id: Type.String(), name: Type.String(), later: Type.Optional(Type.String()) })
  const row = { id: '1', name: 'Shop', secretHash: 'x', toString: 'y' }
  expect(pick(row, View)).toEqual({ id: '1', name: 'Shop' })
})
