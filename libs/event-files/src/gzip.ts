import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'

const LINE_FEED = 10

/** What a transform makes of content. It ends when its reader stops early, which a composed stream reports as an error. */
async function* through(
  content: AsyncIterable<Uint8Array | string>,
  transform: Transform,
): AsyncGenerator<Buffer> {
  // The iteration fails with the same error.
  pipeline(content, transform).catch(() => {})
  yield* transform
}

/** Content, gzipped. */
export const gzip = (content: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> =>
  through(content, createGzip())

/** The lines of a gzipped file with their ends, some at a time. */
export async function* readGzippedLines(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer[]> {
  let rest: Buffer[] = []
  for await (const piece of through(content, createGunzip())) {
    const lines: Buffer[] = []
    let start = 0
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
      lines.push(Buffer.concat([...rest, piece.subarray(start, end + 1)]))
      rest = []
      start = end + 1
    }
    if (start < piece.byteLength) rest.push(piece.subarray(start))
    if (lines.length > 0) yield lines
  }
  if (rest.length > 0) yield [Buffer.concat(rest)]
}

/** A gzipped file with those lines of another that are kept. */
export const rewriteGzippedLines = (
  content: AsyncIterable<Uint8Array>,
  isKept: (line: Buffer) => boolean,
): AsyncGenerator<Uint8Array> => {
  async function* kept(): AsyncGenerator<Buffer> {
    for await (const lines of readGzippedLines(content)) {
      const some = lines.filter(isKept)
      if (some.length > 0) yield Buffer.concat(some)
    }
  }
  return gzip(kept())
}
