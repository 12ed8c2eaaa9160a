import { crc32c } from './crc32c.ts'

/** A record to send. Its texts are sent as UTF-8. */
export type BatchRecord = { key: string; value: string; headers?: Record<string, string> | undefined }
/** Kafka's number of a compression codec, and the codec. */
export type BatchCompression = { codec: number; compress: (records: Buffer) => Buffer | Promise<Buffer> }

const MAGIC = 2
/** Bytes of a batch before its records, and the offsets of the fields that are written last. */
const HEADER_BYTES = 61
const CRC_AT = 17
const ATTRIBUTES_AT = 21
/** Upper bound of the bytes that lengths, attributes and deltas of a record take. */
const MAX_FRAME_BYTES = 32
const MAX_HEADER_FRAME_BYTES = 10
/** Bytes that a UTF-16 code unit takes in UTF-8 at most. */
const MAX_UNIT_BYTES = 3
/** Smaller batches are not compressed: it would cost more than it saves. */
const MIN_COMPRESSED_BYTES = 8_192

/**
 * The records of one partition as a record batch of version 2 (Kafka protocol, "Record Batch"), without the sequence
 * numbers of an idempotent producer. Records are encoded when they are added.
 */
export type RecordBatch = {
  /**
   * Adds a record, unless it could make the batch larger than allowed; a first one is always added. Returns whether it
   * did. `key` is its key in UTF-8. Must not be called after `finish`.
   */
  append(key: Uint8Array, record: BatchRecord): boolean
  /** The number of its records. */
  count(): number
  /** Encodes the batch. `now` is the time of all its records, in ms. May be called again until `release`. */
  finish(now: number, compression?: BatchCompression): Promise<Buffer>
  /**
   * Returns its memory to the pool, unless it was finished more than once: then an earlier attempt to send it may still
   * be running. Neither the batch nor its bytes may be used afterwards.
   */
  release(): void
}

/** Initial size of a buffer, and the memory that the pool keeps. */
const INITIAL_BYTES = 32_768
const MAX_SPARE_BYTES = 16 * 1_048_576

/**
 * Returns a factory of batches of at most `maxBytes` bytes before compression. Buffers are pooled, because the garbage
 * collector is slow to free memory outside its heap.
 */
export const createRecordBatches = (maxBytes: number) => {
  const spare: Buffer[] = []
  let spareBytes = 0

  const takeBuffer = (): Buffer => {
    const buffer = spare.pop()
    if (buffer === undefined) return Buffer.allocUnsafe(INITIAL_BYTES)
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
      const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, end + more))
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
      count: () => count,
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
 * Writes a record and returns the offset of the next one. Most values are ASCII, where the length in bytes is the
 * length of the string, so the value is measured only when that turns out to be wrong.
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
  // No attributes, and no difference from the time of the batch.
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

// Varints are zigzag-encoded. No number here is negative, so that doubles it.
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
