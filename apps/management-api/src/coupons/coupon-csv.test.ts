import { Readable } from 'node:stream'
import { AppError } from '@waymark/contracts/app-error'
import type { Database } from '@waymark/database'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { importCodes } from './coupon-csv.ts'

/** A database that stores every code of an import. */
const storingAll = () => {
  const query = async (statement: string | { values: unknown[] }) => {
    if (typeof statement === 'string') return { rows: [{ size: 0, pools: 1, codes: 0 }] }
    return { rows: (statement.values[1] as string[]).map((code) => ({ code })) }
  }
  const db = { pool: { query }, transaction: (work: (client: object) => unknown) => work({ query }) }
  return db as unknown as Pick<Database, 'transaction' | 'pool'>
}
const quotas = { couponCodes: Number.POSITIVE_INFINITY } as Parameters<typeof importCodes>[3]
const pool = { id: 'pool', projectId: 'project' }

const PIECES = [
  'code',
  'SUMMER-1',
  ',',
  ';',
  '\t',
  '"',
  '""',
  '\n',
  '\r\n',
  '\r',
  '\ufeff',
  '\0',
  '\u200b',
  'ä',
  ' ',
]
const texts = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 4 })), { maxLength: 30 })
const files = fc.oneof(
  texts.map((pieces) => Buffer.from(pieces.join(''))),
  texts.map((pieces) => Buffer.from(`\ufeff${pieces.join('')}`, 'utf16le')),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
)

it('imports or refuses each line of any file', async () => {
  await fc.assert(
    fc.asyncProperty(files, fc.integer({ min: 1, max: 60 }), async (file, cut) => {
      const parts = Readable.from([file.subarray(0, cut), file.subarray(cut)])
      const result = await importCodes(storingAll(), pool, parts, quotas).catch((error: unknown) => error)
      if (result instanceof AppError) return
      expect(result).toMatchObject({ imported: expect.any(Number), errors: expect.any(Array) })
    }),
    { numRuns: 100 },
  )
})
