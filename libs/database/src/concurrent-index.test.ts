import { describe, expect, it } from 'vitest'
import { partitionIndexName, readConcurrentMigration } from './concurrent-index.ts'
import { MigrationError } from './migration-error.ts'

describe('a migration with CONCURRENTLY', () => {
  it('creates an index', () => {
    const sql = `-- CREATE INDEX CONCURRENTLY in a comment
      CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "events_key"
        ON "ingest"."events" USING btree ("a", lower("b")) WHERE "c" IS NULL;
    `
    expect(readConcurrentMigration(sql)).toEqual({
      kind: 'create',
      unique: true,
      name: 'events_key',
      schema: 'ingest',
      table: 'events',
      definition: 'USING btree ("a", lower("b")) WHERE "c" IS NULL',
    })
  })

  it('drops an index', () => {
    expect(readConcurrentMigration('DROP INDEX CONCURRENTLY IF EXISTS ingest.events_key;')).toEqual({
      kind: 'drop',
      schema: 'ingest',
      name: 'events_key',
    })
  })

  it.each([
    'CREATE INDEX CONCURRENTLY a_idx ON public.a (id);',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS a_idx ON a (id);',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS a_idx ON public.a (id); SELECT 1;',
    'CREATE TABLE b (); CREATE INDEX CONCURRENTLY IF NOT EXISTS a_idx ON public.a (id);',
    'DROP INDEX CONCURRENTLY public.a_idx;',
    'REINDEX INDEX CONCURRENTLY public.a_idx;',
  ])('is refused in another form: %s', (sql) => {
    expect(() => readConcurrentMigration(sql)).toThrow(MigrationError)
  })

  it('is distinguished from others', () => {
    expect(
      readConcurrentMigration('CREATE INDEX a_idx ON public.a (id); -- not CONCURRENTLY'),
    ).toBeUndefined()
  })
})

describe('the index of a partition', () => {
  it('has a name of up to 63 bytes, as long as PostgreSQL allows', () => {
    const longest = 'i'.repeat(63 - 'events_2026_11_'.length)
    expect(partitionIndexName('events_2026_11', longest)).toBe(`events_2026_11_${longest}`)
    const cut = partitionIndexName('events_2026_11', `${longest}i`)
    expect(cut).toMatch(/^events_2026_11_i{39}_[0-9a-f]{8}$/)
    expect(cut).toHaveLength(63)
  })

  it('has another name than that of an index whose name begins alike', () => {
    const names = ['a', 'b'].map((end) => partitionIndexName('events_2026_11', `${'i'.repeat(62)}${end}`))
    expect(new Set(names).size).toBe(2)
  })
})
