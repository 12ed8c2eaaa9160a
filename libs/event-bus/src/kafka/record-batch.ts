import { crc32c } from './crc32c.ts'

/** What a record holds when it is sent: texts, in UTF-8. */
export type BatchRecord = { key: string; value: string; headers?: Record<string, string> | undefined }
/** How the records of a batch are compressed: Kafka's number of the codec, and the codec. */
export type BatchCompression = { codec: number; compress: (records: Buffer) => Buffer | Promise<Buffer> }

const MAGIC = 2
/** Bytes of a batch before its records, and where in them the parts are that are known last. */
const HEADER_BYTES = 61
const CRC_AT = 17
const ATTRIBUTES_AT = 21
/** Bytes that the lengths, the attributes and the deltas of a record take at the most. */
const MAX_FRAME_BYTES = 32

/**
 * Encodes the records of one partition as a record batch of version 2, the format of Kafka's protocol and logs, without
 * the numbers of an idempotent producer. `now` is the time of all of them, in ms.
 */
export const encodeRecordBatch = async (
  records: readonly BatchRecord[],
  now: number,
  compression?: BatchCompression,
): Promise<Buffer> => {
  const plain = encodeRecords(records)
  const body = compression ? await compression.compress(plain) : plain
  const batch = Buffer.allocUnsafe(HEADER_BYTES + body.length)
  batch.writeBigInt64BE(0n, 0)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(-1, 12)
  batch.writeInt8(MAGIC, 16)
  batch.writeInt16BE(compression?.codec ?? 0, ATTRIBUTES_AT)
  batch.writeInt32BE(records.length - 1, 23)
  batch.writeBigInt64BE(BigInt(now), 27)
  batch.writeBigInt64BE(BigInt(now), 35)
  batch.writeBigInt64BE(-1n, 43)
  batch.writeInt16BE(-1, 51)
  batch.writeInt32BE(-1, 53)
  batch.writeInt32BE(records.length, 57)
  body.copy(batch, HEADER_BYTES)
  batch.writeUInt32BE(crc32c(batch.subarray(ATTRIBUTES_AT)), CRC_AT)
  return batch
}

const encodeRecords = (records: readonly BatchRecord[]): Buffer => {
  let most = 0
  // A UTF-16 unit takes three bytes of UTF-8 at the most.
  for (const { key, value, headers } of records) {
    most += MAX_FRAME_BYTES + 3 * (key.length + value.length)
    for (const name in headers) most += 10 + 3 * (name.length + (headers[name]?.length ?? 0))
  }
  const bytes = Buffer.allocUnsafe(most)
  let at = 0
  for (let index = 0; index < records.length; index++) {
    const record = records[index]
    if (record) at = writeRecord(bytes, at, record, index)
  }
  return bytes.subarray(0, at)
}

/** Writes a record, and answers where the next one begins. */
const writeRecord = (bytes: Buffer, start: number, record: BatchRecord, offsetDelta: number): number => {
  const { key, value, headers = NO_HEADERS } = record
  const keyBytes = Buffer.byteLength(key)
  const valueBytes = Buffer.byteLength(value)
  const names = headers === NO_HEADERS ? NO_NAMES : Object.keys(headers)
  let size = 2 + sizeOf(offsetDelta) + sizeOf(keyBytes) + keyBytes + sizeOf(valueBytes) + valueBytes
  size += sizeOf(names.length)
  for (const name of names) size += sizeOfText(name) + sizeOfText(headers[name] ?? '')

  let at = writeVarint(bytes, start, size)
  // Attributes, of which there are none, and the difference to the time of the batch.
  bytes[at++] = 0
  bytes[at++] = 0
  at = writeVarint(bytes, at, offsetDelta)
  at = writeVarint(bytes, at, keyBytes)
  at += bytes.write(key, at)
  at = writeVarint(bytes, at, valueBytes)
  at += bytes.write(value, at)
  at = writeVarint(bytes, at, names.length)
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
