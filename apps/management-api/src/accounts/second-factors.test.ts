import { describe, expect, it } from 'vitest'
import { generateSecret, secretText, stepOfCode } from './second-factors.ts'

// The test vectors of RFC 6238, appendix B, of which six digits are used.
const SECRET = new TextEncoder().encode('12345678901234567890')
const VECTORS = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
] as const

describe('a code of an authenticator app', () => {
  it.each(VECTORS)('is at %i s that of RFC 6238', async (seconds, code) => {
    expect(await stepOfCode(SECRET, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
    expect(await stepOfCode(SECRET, ` ${code.slice(0, 3)} ${code.slice(3)} `, seconds * 1000)).toBe(
      Math.floor(seconds / 30),
    )
  })

  it('is valid in its step and those beside it', async () => {
    const step = 41_152_263
    const code = '005924'
    const at = (offset: number) => stepOfCode(SECRET, code, (step + offset) * 30_000)
    expect([await at(-2), await at(-1), await at(0), await at(1), await at(2)]).toEqual([
      undefined,
      step,
      step,
      step,
      undefined,
    ])
  })

  it.each(['', '00592', '0059240', '00592a', '-05924', '００５９２４'])('is not %j', async (code) => {
    expect(await stepOfCode(SECRET, code, 1234567890_000)).toBeUndefined()
  })
})

it('has a secret of 160 random bits', () => {
  const [one, other] = [generateSecret(), generateSecret()]
  expect(one).toHaveLength(20)
  expect(secretText(one)).toMatch(/^[A-Z2-7]{32}$/)
  expect(secretText(one)).not.toBe(secretText(other))
  expect(secretText(SECRET)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
})
