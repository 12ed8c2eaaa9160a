import { validate, version } from 'uuid'
import { describe, expect, it } from 'vitest'
import { createEventIds } from './intake.ts'

describe('an event id', () => {
  it('is a UUIDv7 of its time', () => {
    const time = Date.UTC(2026, 0, 1)
    const newId = createEventIds()
    const first = newId(time)
    const second = newId(time + 1)
    for (const id of [first, second]) expect([validate(id), version(id)]).toEqual([true, 7])
    expect(Number.parseInt(second.replaceAll('-', '').slice(0, 12), 16)).toBe(time + 1)
    expect(second > first).toBe(true)
  })

  it('is greater than the previous one within a millisecond', () => {
    const newId = createEventIds()
    const ids = Array.from({ length: 4_096 }, () => newId(1))
    expect(ids).toEqual(ids.toSorted())
    for (const id of ids) expect([validate(id), version(id)]).toEqual([true, 7])
  })

  it('is unique within a millisecond', () => {
    const newId = createEventIds()
    expect(new Set(Array.from({ length: 10_000 }, () => newId(0))).size).toBe(10_000)
  })
})
