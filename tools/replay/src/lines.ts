import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** A line of a file: its number, counted from 1, and its bytes without the line end. */
export type Line = {
  number: number
  bytes: Buffer
  /** The line was longer than the limit; `bytes` is its beginning. */
  cut: boolean
}

const MAX_LINE_BYTES = 1024 * 1024
const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/**
 * Reads the lines of a file as a stream, decompressing gzip.
 *
 * @param onRead called with the number of bytes of the (compressed) source that have been read
 */
export const readLines = (
  source: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<Line> => splitLines(gunzipped(source, onRead))

/** Splits at LF or CR LF, in chunks of any size. A line over `maxBytes` is cut to that length. */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<Line> {
  let number = 0
  let parts: Buffer[] = []
  let length = 0
  const keep = (part: Buffer) => {
    const room = maxBytes - length
    if (room > 0 && part.byteLength > 0) parts.push(part.subarray(0, room))
    length += part.byteLength
  }
  const take = (): Line => {
    const bytes = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
    const cut = length > maxBytes
    parts = []
    length = 0
    number += 1
    return { number, bytes: !cut && bytes.at(-1) === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes, cut }
  }
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let start = 0
    for (let end = buffer.indexOf(LINE_FEED); end >= 0; end = buffer.indexOf(LINE_FEED, start)) {
      keep(buffer.subarray(start, end))
      yield take()
      start = end + 1
    }
    keep(buffer.subarray(start))
  }
  if (length > 0) yield take()
}

async function* gunzipped(
  source: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  let start = Buffer.alloc(0)
  while (start.byteLength < 2) {
    const next = await chunks.next()
    if (next.done) break
    start = Buffer.concat([start, next.value])
  }
  const whole = async function* () {
    yield start
    yield* { [Symbol.asyncIterator]: () => chunks }
  }
  // By content, since logs are renamed and standard input has no name.
  if (start[0] === 0x1f && start[1] === 0x8b) {
    const gunzip = createGunzip()
    // An error of a damaged file is thrown by this loop.
    for await (const chunk of pipeline(Readable.from(whole()), gunzip, () => {})) {
      onRead(gunzip.bytesWritten)
      yield chunk
    }
    return
  }
  let bytes = 0
  for await (const chunk of whole()) {
    bytes += chunk.byteLength
    onRead(bytes)
    yield chunk
  }
}
