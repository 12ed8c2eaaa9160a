import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { collectGarbage } from '@waymark/testing/used-memory'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Line, readLines, splitLines } from './lines.ts'

async function* chunksOf(bytes: Uint8Array, sizes: number[]): AsyncGenerator<Uint8Array> {
  let start = 0
  for (let turn = 0; start < bytes.byteLength; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    yield bytes.subarray(start, start + size)
    start += size
  }
}
const collect = async (lines: AsyncIterable<Line>) => {
  const texts: string[] = []
  for await (const line of lines) {
    expect(line.number).toBe(texts.length + 1)
    texts.push(line.bytes.toString('latin1'))
  }
  return texts
}
const read = (bytes: Uint8Array, sizes = [7]) => collect(readLines(chunksOf(bytes, sizes)))

test.each([
  ['', []],
  ['a', ['a']],
  ['a\n', ['a']],
  ['a\nb', ['a', 'b']],
  ['a\r\nb\r\n', ['a', 'b']],
  ['\n\na\n\n', ['', '', 'a', '']],
  ['a\rb\n', ['a\rb']],
])('splits %j', async (text, expected) => {
  expect(await read(Buffer.from(text))).toEqual(expected)
})

test('finds the same lines in chunks of any size, compressed or not, in one member or several', async () => {
  const text = fc
    .array(fc.oneof(fc.constantFrom('\n', '\r\n', '\r'), fc.string({ maxLength: 30 })), { maxLength: 40 })
    .map((parts) => parts.join(''))
  const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(text, sizes, fc.nat(), async (content, chunkSizes, cutAt) => {
      const bytes = Buffer.from(content)
      const cut = cutAt % (bytes.byteLength + 1)
      const members = Buffer.concat([gzipSync(bytes.subarray(0, cut)), gzipSync(bytes.subarray(cut))])
      const parts = bytes.toString('latin1').split(/\r?\n/)
      const expected = parts.at(-1) === '' ? parts.slice(0, -1) : parts
      // A last line that is only CR is content without a line end.
      const lines = expected.map((line, index) =>
        index === parts.length - 1 ? line.replace(/\r$/, '') : line,
      )
      expect(await read(bytes, chunkSizes)).toEqual(lines)
      expect(await read(gzipSync(bytes), chunkSizes)).toEqual(lines)
      expect(await read(members, chunkSizes)).toEqual(lines)
    }),
    { numRuns: 200 },
  )
})

describe('a line over the limit', () => {
  test('is cut, and the next one is whole', async () => {
    const lines: [string, boolean][] = []
    for await (const { bytes, cut } of splitLines(chunksOf(Buffer.from('12345\n123456\n12\n'), [4]), 5)) {
      lines.push([bytes.toString(), cut])
    }
    expect(lines).toEqual([
      ['12345', false],
      ['12345', true],
      ['12', false],
    ])
  })

  test('keeps no more bytes than the limit, also when it never ends', async () => {
    const beyond: WeakRef<Buffer>[] = []
    async function* endless() {
      for (let turn = 1; turn <= 2_000; turn += 1) {
        const chunk = Buffer.alloc(64 * 1024, 'x')
        if (turn > 100) beyond.push(new WeakRef(chunk))
        yield chunk
        // The end of a turn releases what a WeakRef was asked for.
        if (turn % 500 === 0) {
          await setImmediate()
          collectGarbage()
          expect(beyond.filter((chunk) => chunk.deref()).length).toBeLessThan(10)
        }
      }
    }
    const [line, ...others] = await collect(readLines(endless()))
    expect(others).toEqual([])
    expect(line?.length).toBe(1024 * 1024)
  })
})

test('a damaged file yields its readable lines, then the error', async () => {
  const text = Array.from({ length: 20_000 }, (_, index) => `line ${index} ${Math.sin(index)}\n`).join('')
  const compressed = gzipSync(text)
  const lines: string[] = []
  const reading = async () => {
    const half = compressed.subarray(0, compressed.byteLength / 2)
    for await (const line of readLines(chunksOf(half, [16 * 1024]))) lines.push(line.bytes.toString())
  }
  await expect(reading()).rejects.toThrow('unexpected end of file')
  expect(lines.length).toBeGreaterThan(5_000)
  expect(text.startsWith(lines.slice(0, -1).join('\n'))).toBe(true)
})

test.each([[false], [true]])('reports how far it has read (compressed: %s)', async (compressed) => {
  const text = Array.from({ length: 50_000 }, (_, index) => `line ${index} ${Math.sin(index)}\n`).join('')
  const bytes = compressed ? gzipSync(text) : Buffer.from(text)
  const reported: number[] = []
  let half = 0
  for await (const { number } of readLines(chunksOf(bytes, [16 * 1024]), (read) => reported.push(read))) {
    if (number === 25_000) half = (reported.at(-1) ?? 0) / bytes.byteLength
  }
  expect(half).toBeGreaterThan(0.4)
  expect(half).toBeLessThan(0.65)
  expect(reported.at(-1)).toBe(bytes.byteLength)
  expect(reported).toEqual(reported.toSorted((a, b) => a - b))
})
