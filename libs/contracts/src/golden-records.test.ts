import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { topics } from './topics.ts'

const DIRECTORY = path.join(import.meta.dirname, '../golden')
const recordsOf = (topic: string): Record<string, unknown>[] =>
  JSON.parse(readFileSync(path.join(DIRECTORY, `${topic}.json`), 'utf8'))

/** Fields that some version of a record may come without, and mean something usual then. */
const LEFT_OUT: Record<string, Record<number, readonly string[]>> = {
  'ingest.records.v1': { 2: ['sentAt', 'client', 'ipStorage', 'backfill', 'warnings', 'conversions'] },
}
const mayLack = (topic: string, { v }: Record<string, unknown>, field: string): boolean =>
  LEFT_OUT[topic]?.[Number(v)]?.includes(field) ?? false

describe('golden records', () => {
  it('are there for every topic and no other', () => {
    const files = readdirSync(DIRECTORY).filter((file) => file.endsWith('.json'))
    expect(files.sort()).toEqual(topics.map(({ name }) => `${name}.json`).sort())
  })

  describe.each(topics)('of $name', ({ name, validator }) => {
    it.each(recordsOf(name))('are taken (%#)', (record) => {
      expect(validator.check(record)).toBeUndefined()
    })

    it.each(recordsOf(name))('are taken from a newer service that tells more (%#)', (record) => {
      expect(validator.check({ ...record, addedLater: { by: 'a newer version' } })).toBeUndefined()
    })

    it.each(recordsOf(name))('name every field that a consumer relies on (%#)', (record) => {
      for (const field of Object.keys(record)) {
        const { [field]: _left, ...rest } = record
        expect(validator.fits(rest), `without ${field}`).toBe(mayLack(name, record, field))
      }
    })
  })
})
