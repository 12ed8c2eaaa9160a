import { zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { zstd } from './zstd-codec.ts'

describe('zstd', () => {
  it('makes a frame of its own of each input', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 2_000 })), (inputs) => {
        const frames = inputs.map((input) => zstd(Buffer.from(input)))
        expect(frames.map((frame) => [...zstdDecompressSync(frame)])).toEqual(
          inputs.map((input) => [...input]),
        )
      }),
    )
  })

  it('takes what is larger than the room for what comes out', () => {
    const noise = crypto.getRandomValues(Buffer.alloc(60_000))
    const input = Buffer.concat([noise, noise.toReversed(), noise.map((byte) => byte ^ 1)])
    expect(zstdDecompressSync(zstd(input)).equals(input)).toBe(true)
  })

  it('goes on after it failed', () => {
    expect(() => zstd(undefined as never)).toThrow('zlib')
    expect(zstdDecompressSync(zstd(Buffer.from('once more'))).toString()).toBe('once more')
  })
})
