import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { topics } from './topics.ts'

const DIRECTORY = path.join(import.meta.dirname, '../golden')
const recordsOf = (topic: string): Record<string, unknown>[] =>
  JSON.parse(readFileSync(path.join(DIRECTORY, `${topic}.json`), 'utf8'))

/** The optional fields of each topic's records. */
const OPTIONAL_FIELDS: Record<string, readonly string[]> = {
  // Of changes by guards, of a resume, and of proposals.
  'decisions.changed.v1': ['evidence', 'reason', 'proposal'],
  // Of operations that need a reason.
  'audit.recorded.v1': ['reason'],
  'coupons.redeemed.v1': ['discountAmount', 'shippingDiscountAmount', 'rolledBackAmount'],
  'ingest.records.v1': [
    'sentAt',
    'client',
    'ipStorage',
    'backfill',
    'warnings',
    'conversions',
    // Of an identify call.
    'verified',
  ],
}

describe('golden records', () => {
  it('exist for every topic and no other', () => {
    const files = readdirSync(DIRECTORY).filter((file) => file.endsWith('.json'))
    expect(files.sort()).toEqual(topics.map(({ name }) => `${name}.json`).sort())
  })

  describe.each(topics)('of $name', ({ name, validator }) => {
    it.each(recordsOf(name))('are accepted (%#)', (record) => {
      expect(validator.check(record)).toBeUndefined()
    })

    it.each(recordsOf(name))('are accepted with additional fields of a newer service (%#)', (record) => {
      expect(validator.check({ ...record, addedLater: { by: 'a newer version' } })).toBeUndefined()
    })

    it.each(recordsOf(name))('contain every field that a consumer relies on (%#)', (record) => {
      for (const field of Object.keys(record)) {
        const { [field]: _left, ...rest } = record
        expect(validator.fits(rest), `without ${field}`).toBe(OPTIONAL_FIELDS[name]?.includes(field) ?? false)
      }
    })
  })
})

it.each(['coupons.redeemed.v1', 'emails.sent.v1'])(
  '%s may have kinds that a newer service writes',
  (name) => {
    const topic = topics.find((one) => one.name === name)
    for (const record of recordsOf(name))
      expect(topic?.validator.check({ ...record, kind: 'added_later' })).toBeUndefined()
  },
)
