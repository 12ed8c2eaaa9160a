import { describe, expect, it } from 'vitest'
import { type Replayable, replayMany } from './replay-many.ts'

const fakeOf = (size: number, invalid: (n: number) => boolean = () => false) => {
  const open = new Set(Array.from({ length: size }, (_, n) => n))
  const behind = (after = -1) => [...open].filter((n) => n > after)
  const records: Replayable<number, number> = {
    read: async (after, take) => behind(after).slice(0, take),
    cursorOf: (n) => n,
    replay: async (chunk) => {
      const valid = chunk.filter((n) => !invalid(n))
      for (const n of valid) open.delete(n)
      return { replayed: valid.length, stillInvalid: chunk.length - valid.length }
    },
    count: async (after) => behind(after).length,
  }
  return { records, open }
}

describe('replaying many', () => {
  it('replays up to a thousand records and returns where to continue', async () => {
    const { records, open } = fakeOf(1_001, (n) => n % 2 === 0)
    const first = await replayMany(records, undefined, () => 0)
    expect(first).toEqual({ replayed: 500, stillInvalid: 500, remaining: 1, next: 999 })
    expect(await replayMany(records, first.next, () => 0)).toEqual({
      replayed: 0,
      stillInvalid: 1,
      remaining: 0,
      next: undefined,
    })
    expect(open.size).toBe(501)
  })

  it('reports nothing left after exactly a thousand', async () => {
    const { records } = fakeOf(1_000)
    const result = await replayMany(records, undefined, () => 0)
    expect(result).toEqual({ replayed: 1_000, stillInvalid: 0, remaining: 0, next: undefined })
  })

  it('stops after ten seconds', async () => {
    let time = 0
    const { records } = fakeOf(900)
    const result = await replayMany(records, undefined, () => (time += 5_000))
    expect(result).toMatchObject({ replayed: 200, remaining: 700, next: 199 })
  })
})
