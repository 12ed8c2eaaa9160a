import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { JsonObject, StringMap, Timestamp } from '../schema-parts.ts'
import { pageOf } from './page.ts'
import { pick } from './pick.ts'

const Key = Type.Object({ id: Type.String(), createdAt: Timestamp, tags: Type.Array(Type.String()) })
const key = { id: 'k', createdAt: new Date(0), tags: ['a'] }

describe('an answer', () => {
  it('has the declared members only', () => {
    expect(pick({ ...key, secretHash: 'x' }, Key)).toEqual(key)
  })

  it('leaves out what objects in lists do not declare', () => {
    const page = { data: [{ ...key, secretHash: 'x' }], nextCursor: null, total: 1 }
    expect(pick(page, pageOf(Key))).toEqual({ data: [key], nextCursor: null })
  })

  it('keeps every member of an open object', () => {
    const Event = Type.Object({ properties: JsonObject, labels: StringMap })
    const event = { properties: { a: { b: 1 } }, labels: { c: 'd' } }
    expect(pick(event, Event)).toEqual(event)
  })

  it('chooses in the members of a map', () => {
    const Counts = Type.Object({ byKey: Type.Record(Type.String(), Type.Object({ n: Type.Integer() })) })
    expect(pick({ byKey: { a: { n: 1, hidden: 2 } } }, Counts)).toEqual({ byKey: { a: { n: 1 } } })
  })

  it('has the members of any alternative', () => {
    const Nullable = Type.Object({
      discount: Type.Union([
        Type.Object({ percent: Type.Number() }),
        Type.Object({ amount: Type.Integer() }),
        Type.Null(),
      ]),
    })
    expect(pick({ discount: { amount: 1, cost: 2 } }, Nullable)).toEqual({ discount: { amount: 1 } })
    expect(pick({ discount: null }, Nullable)).toEqual({ discount: null })
  })

  it('leaves out what the record lacks, and members of every object', () => {
    const View = Type.Object({ name: Type.String(), later: Type.Optional(Type.String()) })
    expect(pick({ name: 'Shop', toString: 'y' }, View)).toEqual({ name: 'Shop' })
  })
})
