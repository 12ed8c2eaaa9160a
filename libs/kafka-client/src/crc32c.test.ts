import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { crc32c } from './crc32c.ts'

const byKafkajs = createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/crc32C/index.js') as (
  bytes: Uint8Array,
) => number

it('is that of RFC 3720', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
})

it('equals another implementation for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(crc32c(bytes)).toBe(byKafkajs(bytes))
    }),
    { numRuns: 1_000 },
  )
})
