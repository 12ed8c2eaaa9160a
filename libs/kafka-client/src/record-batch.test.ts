import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type BatchCompression,
  type BatchRecord,
  createRecordBatches,
  type RecordBatch,
} from './record-batch.ts'
import { registerZstd, zstd } from './zstd-codec.ts'

const require = createRequire(import.meta.url)
const crc32c = require('kafkajs/src/protocol/recordBatch/crc32C/index.js') as (bytes: Buffer) => number
const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => object
type Decoded = {
  records: {
    key: Buffer
    value: Buffer
    headers: Record<string, Buffer>
    offset: string
    timestamp: string
  }[]
}
const decodeByKafkajs = require('kafkajs/src/protocol/recordBatch/v0/decoder.js') as (
  decoder: object,
) => Promise<Decoded>
registerZstd()

const NOW = 1_760_000_000_000
const ZSTD = { codec: 4, compress: zstd }

const decode = async (batch: Buffer): Promise<BatchRecord[]> => {
  expect(batch.readUInt32BE(17)).toBe(crc32c(batch.subarray(21)))
  const { records } = await decodeByKafkajs(new Decoder(batch))
  return records.map(({ key, value, headers, offset, timestamp }, index) => {
    expect({ offset, timestamp }).toEqual({ offset: `${index}`, timestamp: `${NOW}` })
    return {
      key: key.toString(),
      value: value.toString(),
      headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, text.toString()])),
    }
  })
}

const newBatch = createRecordBatches(10_000_000)
const appendTo = (batch: RecordBatch, record: BatchRecord): boolean =>
  batch.append(Buffer.from(record.key), record)
const encodeRecordBatch = (records: readonly BatchRecord[], compression?: BatchCompression) => {
  const batch = newBatch()
  for (const record of records) expect(appendTo(batch, record)).toBe(true)
  return batch.finish(NOW, compression)
}

const text = (maxLength: number) => fc.string({ unit: 'binary', maxLength })
const headers = fc
  // kafkajs treats a header named like an inherited member as if it existed.
  .array(
    fc.tuple(
      text(20).map((name) => `x-${name}`),
      text(200),
    ),
    { maxLength: 4 },
  )
  .map((pairs) => Object.fromEntries(pairs))

describe('a record batch', () => {
  it.each([
    ['plain', undefined],
    ['compressed', ZSTD],
  ])('is read by another implementation as what was written, %s', async (_name, compression) => {
    const record = fc.record({ key: text(100), value: text(300), headers })
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 100 }), async (records) => {
        expect(await decode(await encodeRecordBatch(records, compression))).toEqual(records)
      }),
      { numRuns: 100 },
    )
  })

  it.each([63, 64, 8_191, 8_192, 1_048_575, 1_048_576])('may have a value of %d bytes', async (length) => {
    const records = [{ key: 'k', value: 'é'.repeat(length / 2) + 'x'.repeat(length % 2), headers: {} }]
    expect(await decode(await encodeRecordBatch(records))).toEqual(records)
  })

  it('may have 10,000 records', async () => {
    const records = Array.from({ length: 10_000 }, (_, n) => ({
      key: `${n}`,
      value: `value ${n}`,
      headers: {},
    }))
    expect(await decode(await encodeRecordBatch(records, ZSTD))).toEqual(records)
  })

  it('never exceeds the limit, except with a single record', async () => {
    const records = fc.array(fc.record({ key: text(20), value: text(400) }), { minLength: 1, maxLength: 50 })
    await fc.assert(
      fc.asyncProperty(records, async (all) => {
        const batch = createRecordBatches(2_000)()
        const taken = all.filter((record) => appendTo(batch, record))
        const bytes = await batch.finish(NOW)
        expect(taken[0]).toBe(all[0])
        if (taken.length > 1) expect(bytes.length).toBeLessThanOrEqual(2_000)
        expect((await decode(bytes)).map(({ value }) => value)).toEqual(taken.map(({ value }) => value))
      }),
    )
  })

  it('accepts a record while there may be room, and any single record', () => {
    const ofLength = (length: number) => ({ key: '', value: 'x'.repeat(length) })
    // 61 bytes before the records, up to 32 for each record, and three per UTF-16 unit.
    const limit = 61 + 3 + 32 + 3 * 100
    const fits = (maxBytes: number): boolean => {
      const batch = createRecordBatches(maxBytes)()
      appendTo(batch, ofLength(0))
      return appendTo(batch, ofLength(100))
    }
    const first = 7
    expect([fits(limit + first), fits(limit - 1)]).toEqual([true, false])
    expect(appendTo(createRecordBatches(10)(), ofLength(5_000))).toBe(true)
  })

  it('is identical when it is finished again for another attempt', async () => {
    const batch = newBatch()
    appendTo(batch, { key: 'k', value: 'x'.repeat(10_000) })
    for (const compression of [undefined, ZSTD]) {
      const first = Buffer.from(await batch.finish(NOW, compression))
      expect(await batch.finish(NOW, compression)).toEqual(first)
    }
  })

  it('is not reused after a second attempt, because the first may still be in flight', async () => {
    const batches = createRecordBatches(10_000)
    const finishAndRelease = async (attempts: number): Promise<Buffer> => {
      const batch = batches()
      appendTo(batch, { key: 'k', value: 'first' })
      let bytes = await batch.finish(NOW)
      for (let more = 1; more < attempts; more++) bytes = await batch.finish(NOW)
      batch.release()
      return bytes
    }
    const isUsedAgain = (bytes: Buffer): boolean => {
      const before = Buffer.from(bytes)
      appendTo(batches(), { key: 'k', value: 'other' })
      return !bytes.equals(before)
    }
    expect(isUsedAgain(await finishAndRelease(1))).toBe(true)
    expect(isUsedAgain(await finishAndRelease(2))).toBe(false)
  })

  it('keeps at most 16 MiB of memory for later batches', async () => {
    const batches = createRecordBatches(2_000_000)
    const open = async () => {
      const batch = batches()
      // Three bytes are reserved for each character: 1,000,090 with the framing.
      appendTo(batch, { key: 'k', value: 'x'.repeat(333_332) })
      return { batch, memory: (await batch.finish(NOW)).buffer }
    }
    const first = await Promise.all(Array.from({ length: 20 }, open))
    for (const { batch } of first) batch.release()
    const released = new Set(first.map(({ memory }) => memory))
    const second = await Promise.all(Array.from({ length: 20 }, open))
    expect(second.filter(({ memory }) => released.has(memory))).toHaveLength(16)
  })

  it('contains no bytes of the batch whose memory it reuses', async () => {
    const batches = createRecordBatches(1_000_000)
    for (const count of [500, 3, 70_000, 1, 200]) {
      const batch = batches()
      const records = Array.from({ length: count }, (_, n) => ({ key: `${n}`, value: 'v', headers: {} }))
      const taken = records.filter((record) => appendTo(batch, record))
      expect(await decode(await batch.finish(NOW))).toEqual(taken)
      batch.release()
    }
  })
})
