import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BatchRecord, encodeRecordBatch } from './record-batch.ts'
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

const text = (maxLength: number) => fc.string({ unit: 'binary', maxLength })
const headers = fc
  // kafkajs reads a name that every object has as if it were there already.
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
        expect(await decode(await encodeRecordBatch(records, NOW, compression))).toEqual(records)
      }),
      { numRuns: 100 },
    )
  })

  it.each([63, 64, 8_191, 8_192, 1_048_575, 1_048_576])('may have a value of %d bytes', async (length) => {
    const records = [{ key: 'k', value: 'é'.repeat(length / 2) + 'x'.repeat(length % 2), headers: {} }]
    expect(await decode(await encodeRecordBatch(records, NOW))).toEqual(records)
  })

  it('may have 10,000 records', async () => {
    const records = Array.from({ length: 10_000 }, (_, n) => ({
      key: `${n}`,
      value: `value ${n}`,
      headers: {},
    }))
    expect(await decode(await encodeRecordBatch(records, NOW, ZSTD))).toEqual(records)
  })
})
