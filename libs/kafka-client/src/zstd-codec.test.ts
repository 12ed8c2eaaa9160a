import { zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { zstd } from './zstd-codec.ts'

describe('zstd', () => {
  it('compresses each input to a separate frame', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 2_000 })), (inputs) => {
        const frames = inputs.map((input) => zstd(Buffer.from(input)))
        expect(frames.map((frame) => [...zstdDecompressSync(frame)])).toEqual(
          inputs.map((input) => [...input]),
        )
      }),
    )
  })

  it('compresses input that exceeds the initial output buffer', () => {
    const noise = crypto.getRandomValues(Buffer.alloc(60_000))
    const input = Buffer.concat([noise, noise.toReversed(), noise.map((byte) => byte ^ 1)])
    expect(zstdDecompressSync(zstd(input)).equals(input)).toBe(true)
  })

  it('works again after a failure', () => {
    expect(() => zstd(undefined as never)).toThrow('zlib')
    expect(zstdDecompressSync(zstd(Buffer.from('again'))).toString()).toBe('again')
  })
})
