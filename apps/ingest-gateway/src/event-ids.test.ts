import { validate, version } from 'uuid'
import { describe, expect, it } from 'vitest'
import { createEventIds } from './event-ids.ts'

describe('an event id', () => {
  it('is a UUIDv7 of its time', () => {
    let now = Date.UTC(2026, 0, 1)
    const newId = createEventIds(() => now)
    const first = newId()
    now += 1
    const second = newId()
    for (const id of [first, second]) expect([validate(id), version(id)]).toEqual([true, 7])
    expect(Number.parseInt(second.replaceAll('-', '').slice(0, 12), 16)).toBe(now)
    expect(second > first).toBe(true)
  })

  it('is greater than the one before it, for as long as a millisecond counts', () => {
    const newId = createEventIds(() => 1)
    const ids = Array.from({ length: 4_096 }, newId)
    expect(ids).toEqual(ids.toSorted())
    for (const id of ids) expect([validate(id), version(id)]).toEqual([true, 7])
  })

  it('is another one each time, also within a millisecond', () => {
    const newId = createEventIds(() => 0)
    expect(new Set(Array.from({ length: 10_000 }, newId)).size).toBe(10_000)
  })
})
