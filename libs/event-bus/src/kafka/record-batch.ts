import { MAX_UNIT_BYTES } from '../utf8.ts'
import { crc32c } from './crc32c.ts'

/** What a record holds beside its key when it is sent: texts, in UTF-8. */
export type BatchRecord = { value: string; headers?: Record<string, string> | undefined }
/** How the records of a batch are compressed: Kafka's number of the codec, and the codec. */
export type BatchCompression = { codec: number; compress: (records: Buffer) => Buffer | Promise<Buffer> }

const MAGIC = 2
/** Bytes of a batch before its records, and where in them the parts are that are known last. */
const HEADER_BYTES = 61
const CRC_AT = 17
const ATTRIBUTES_AT = 21
/** Bytes that the lengths, the attributes and the deltas of a record take at the most. */
const MAX_FRAME_BYTES = 32
const MAX_HEADER_FRAME_BYTES = 10
/** Bytes that a batch must have before compressing it costs less than it saves. */
const MIN_COMPRESSED_BYTES = 8_192

/**
 * The records of one partition as a record batch of version 2, the format of Kafka's protocol and logs, without the
 * numbers of an idempotent producer. Records are encoded as they are added, so that nothing of them is kept but bytes.
 */
export type RecordBatch = {
  /**
   * Adds a record, unless it could make the batch larger than allowed; by itself any is taken. Answers whether it did. The
   * key's bytes are copied.
   * Not to be called once the batch has been finished.
   */
  append(key: Uint8Array, record: BatchRecord): boolean
  /** The whole batch. `now` is the time of all its records, in ms. May be called again, as long as it is not released. */
  finish(now: number, compression?: BatchCompression): Promise<Buffer>
  /**
   * Gives its memory back, unless it was finished more than once: who knows whether the first attempt to send it has
   * ended. Nobody may use the batch nor what it has answered any more.
   */
  release(): void
}

/** How large a buffer begins, and how much memory is kept for the next batches. */
const INITIAL_BYTES = 32_768
const MAX_SPARE_BYTES = 16 * 1_048_576

/**
 * Makes batches of at most `maxBytes` bytes before compression. Their memory is used again, since the collector is slow
 * to see how much of it lies outside its heap.
 */
export const createRecordBatches = (maxBytes: number) => {
  const spare: Buffer[] = []
  let spareBytes = 0

  const takeBuffer = (): Buffer => {
    const buffer = spare.pop()
    if (buffer === undefined) return Buffer.allocUnsafeSlow(INITIAL_BYTES)
    spareBytes -= buffer.length
    return buffer
  }

  return (): RecordBatch => {
    let buffer = takeBuffer()
    let end = HEADER_BYTES
    let count = 0
    let attempts = 0

    const makeRoomFor = (more: number): void => {
      if (end + more <= buffer.length) return
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * buffer.length, end + more))
      buffer.copy(larger, 0, 0, end)
      buffer = larger
    }
    return {
      append: (key, record) => {
        const most = key.length + mostBytesOf(record)
        if (count > 0 && end + most > maxBytes) return false
        makeRoomFor(most)
        end = writeRecord(buffer, end, key, record, count++)
        return true
      },
      finish: async (now, compression) => {
        attempts++
        if (compression === undefined || end < MIN_COMPRESSED_BYTES)
          return writeHeader(buffer.subarray(0, end), { now, count, codec: 0 })
        const records = await compression.compress(buffer.subarray(HEADER_BYTES, end))
        const batch = Buffer.allocUnsafe(HEADER_BYTES + records.length)
        records.copy(batch, HEADER_BYTES)
        return writeHeader(batch, { now, count, codec: compression.codec })
      },
      release: () => {
        if (attempts !== 1 || spareBytes + buffer.length > MAX_SPARE_BYTES) return
        spare.push(buffer)
        spareBytes += buffer.length
      },
    }
  }
}

type BatchHeader = { now: number; count: number; codec: number }

const writeHeader = (batch: Buffer, { now, count, codec }: BatchHeader): Buffer => {
  batch.writeBigInt64BE(0n, 0)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(-1, 12)
  batch.writeInt8(MAGIC, 16)
  batch.writeInt16BE(codec, ATTRIBUTES_AT)
  batch.writeInt32BE(count - 1, 23)
  batch.writeBigInt64BE(BigInt(now), 27)
  batch.writeBigInt64BE(BigInt(now), 35)
  batch.writeBigInt64BE(-1n, 43)
  batch.writeInt16BE(-1, 51)
  batch.writeInt32BE(-1, 53)
  batch.writeInt32BE(count, 57)
  batch.writeUInt32BE(crc32c(batch.subarray(ATTRIBUTES_AT)), CRC_AT)
  return batch
}

const mostBytesOf = ({ value, headers }: BatchRecord): number => {
  let most = MAX_FRAME_BYTES + MAX_UNIT_BYTES * value.length
  for (const name in headers)
    most += MAX_HEADER_FRAME_BYTES + MAX_UNIT_BYTES * (name.length + (headers[name]?.length ?? 0))
  return most
}

/**
 * Writes a record, and answers where the next one begins. Nearly every text is ASCII, and then as long in bytes: to
 * measure it first would be to read it twice, so that it is measured only when that turns out to be wrong.
 */
const writeRecord = (
  bytes: Buffer,
  start: number,
  key: Uint8Array,
  record: BatchRecord,
  offsetDelta: number,
  valueBytes = record.value.length,
): number => {
  const { value, headers = NO_HEADERS } = record
  const names = headers === NO_HEADERS ? NO_NAMES : Object.keys(headers)
  let size = 2 + sizeOf(offsetDelta) + sizeOf(key.length) + key.length + sizeOf(valueBytes) + valueBytes
  size += sizeOf(names.length)
  for (const name of names) size += sizeOfText(name) + sizeOfText(headers[name] ?? '')

  let at = writeVarint(bytes, start, size)
  // Attributes, of which there are none, and the difference to the time of the batch.
  bytes[at++] = 0
  bytes[at++] = 0
  at = writeVarint(bytes, at, offsetDelta)
  at = writeVarint(bytes, at, key.length)
  bytes.set(key, at)
  at = writeVarint(bytes, at + key.length, valueBytes)
  const written = bytes.write(value, at)
  if (written !== valueBytes)
    return writeRecord(bytes, start, key, record, offsetDelta, Buffer.byteLength(value))
  at = writeVarint(bytes, at + written, names.length)
  for (const name of names) {
    at = writeText(bytes, at, name)
    at = writeText(bytes, at, headers[name] ?? '')
  }
  return at
}

const NO_HEADERS: Record<string, string> = {}
const NO_NAMES: readonly string[] = []

// Varints are zigzag-encoded, and no number here is negative: that is twice the number.
const sizeOf = (value: number): number => {
  let size = 1
  for (let rest = value * 2; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

const writeVarint = (bytes: Buffer, start: number, value: number): number => {
  let at = start
  let rest = value * 2
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest & 0x7f) | 0x80
  bytes[at++] = rest
  return at
}

const sizeOfText = (text: string): number => {
  const size = Buffer.byteLength(text)
  return sizeOf(size) + size
}

const writeText = (bytes: Buffer, start: number, text: string): number => {
  const at = writeVarint(bytes, start, Buffer.byteLength(text))
  return at + bytes.write(text, at)
}
