import { AppError } from '@waymark/contracts/app-error'
import { describe, expect, it } from 'vitest'
import { CHECK_MS, whileAllowed } from './while-allowed.ts'

/** Reads an answer of four pieces, each `ms` after the one before. Returns what arrived and how often it was checked. */
const read = async (ms: number, refusal?: Error) => {
  let now = 0
  let checks = 0
  const arrived: number[] = []
  async function* pieces() {
    for (const piece of [1, 2, 3, 4]) {
      now += ms
      yield piece
    }
  }
  const allowAgain = async () => {
    checks++
    if (refusal) throw refusal
  }
  const reading = async () => {
    for await (const piece of whileAllowed(pieces(), allowAgain, () => now)) arrived.push(piece)
  }
  const error = await reading().catch((thrown: Error) => thrown)
  return { arrived, checks, error }
}

describe('a long answer', () => {
  it('is checked again after some seconds', async () => {
    expect(await read(CHECK_MS / 2)).toEqual({ arrived: [1, 2, 3, 4], checks: 2, error: undefined })
    expect((await read(1)).checks).toBe(0)
  })

  it.each(['unauthorized', 'forbidden', 'not_found'] as const)(
    'ends when its reader is refused: %s',
    async (code) => {
      const { arrived, error } = await read(CHECK_MS / 2, new AppError(code, 'refused'))
      expect(arrived).toEqual([1])
      expect(error).toMatchObject({ code: 'unauthorized' })
    },
  )

  it('goes on while the store is unavailable', async () => {
    expect((await read(CHECK_MS, new AppError('store_unavailable', 'away'))).arrived).toEqual([1, 2, 3, 4])
  })
})
