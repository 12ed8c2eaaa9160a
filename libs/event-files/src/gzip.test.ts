import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { eventually } from '@waymark/testing/unit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gzip, readGzippedLines, rewriteGzippedLines } from './gzip.ts'

const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', '\u2028\r')))

describe('gzipped lines', () => {
  it('are read as they were written, in pieces of any size', () =>
    fc.assert(
      fc.asyncProperty(text, fc.nat({ max: 50 }), async (lines, size) => {
        const content = gzipSync(lines.map((line) => `${line}\n`).join(''))
        async function* pieces() {
          for (let at = 0; at < content.length; at += size + 1) yield content.subarray(at, at + size + 1)
        }
        const read = (await Array.fromAsync(readGzippedLines(pieces()))).flat()
        expect(read.map(String)).toEqual(lines.map((line) => `${line}\n`))
      }),
    ))

  it('have a last line without an end', async () => {
    const read = await Array.fromAsync(readGzippedLines(Readable.from([gzipSync('a\nb')])))
    expect(read.flat().map(String)).toEqual(['a\n', 'b'])
  })

  it('are longer than the pieces of the decompression', async () => {
    const long = 'x'.repeat(1024 * 1024)
    const read = await Array.fromAsync(readGzippedLines(Readable.from([gzipSync(`${long}\n${long}\n`)])))
    expect(read.flat().map(({ length }) => length)).toEqual([long.length + 1, long.length + 1])
  })

  it('are rewritten without some of them', async () => {
    const content = Readable.from([gzipSync('a\nbb\nc\n')])
    const rewritten = await buffer(rewriteGzippedLines(content, (line) => line.length === 2))
    expect(gunzipSync(rewritten).toString()).toBe('a\nc\n')
  })

  it('may be read in part', async () => {
    let ended = 0
    async function* endless() {
      try {
        for (;;) yield `${randomBytes(64 * 1024).toString('hex')}\n`
      } finally {
        ended++
      }
    }
    for await (const lines of readGzippedLines(gzip(endless()))) {
      expect(lines[0]?.length).toBe(128 * 1024 + 1)
      break
    }
    await eventually('the content is ended', () => ended === 1)
    async function* broken() {
      yield Buffer.from('a line\n')
      throw new Error('the database is unavailable')
    }
    await expect(Array.fromAsync(gzip(broken()))).rejects.toThrow('the database is unavailable')
  })

  it('fail when they are not gzipped', async () => {
    await expect(Array.fromAsync(readGzippedLines(Readable.from([Buffer.from('a\n')])))).rejects.toThrow()
  })
})
