import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { checksumOf, type MigrationRecord, pendingMigrations, requireMigrated } from './migrate.ts'
import { MigrationError, MigrationsPendingError } from './migration-error.ts'

const first = { name: '20260101000000_first', sql: 'SELECT 1;\n' }
const second = { name: '20260202000000_second', sql: 'SELECT 2;\n' }

const applied = (
  { name, sql }: { name: string; sql: string },
  record: Partial<MigrationRecord> = {},
): MigrationRecord => ({ name, checksum: checksumOf(sql), logs: null, finished: true, ...record })

it('uses the checksum that Prisma writes', () => {
  expect(checksumOf(first.sql)).toBe('b4e0497804e46e0a0b0b8c31975b062152d551bac49c3c2e80932567b4085dcd')
})

describe('pending migrations', () => {
  it('are those without a record, oldest first', () => {
    expect(pendingMigrations([first, second], [])).toEqual([first, second])
    expect(pendingMigrations([first, second], [applied(first)])).toEqual([second])
    expect(pendingMigrations([first, second], [applied(first), applied(second)])).toEqual([])
  })

  it('may be fewer than those of a newer database', () => {
    expect(pendingMigrations([first], [applied(first), applied(second)])).toEqual([])
  })

  it('are refused after a failure, with its message', () => {
    const failed = applied(second, { finished: false, logs: 'syntax error' })
    const check = () => pendingMigrations([first, second], [applied(first), failed])
    expect(check).toThrow(MigrationError)
    expect(check).toThrow(/20260202000000_second failed before.*syntax error/)
  })

  it('are applied beside a failed one of another version', () => {
    const failed = applied(second, { finished: false, logs: 'syntax error' })
    expect(pendingMigrations([first], [applied(first), failed])).toEqual([])
    expect(pendingMigrations([first], [failed])).toEqual([first])
  })

  it('are refused when an applied one was changed, with its name', () => {
    const check = () => pendingMigrations([{ ...first, sql: 'SELECT 3;\n' }, second], [applied(first)])
    expect(check).toThrow(MigrationError)
    expect(check).toThrow(/changed.*20260101000000_first$/)
  })

  it('ignore differences of line ends', () => {
    const onWindows = { ...first, sql: 'SELECT 1;\r\n' }
    expect(pendingMigrations([onWindows], [applied(first)])).toEqual([])
    expect(pendingMigrations([first], [applied(onWindows)])).toEqual([])
  })
})

describe('the privileges that a service needs', () => {
  const directory = path.join(import.meta.dirname, '../prisma/migrations')
  const own = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) =>
      applied({ name, sql: readFileSync(path.join(directory, name, 'migration.sql'), 'utf8') }),
    )
  /** A database with these records, whose role lacks a privilege. */
  const poolWith = (records: readonly MigrationRecord[]): Pool => {
    const rowsOf = (sql: string): readonly object[] => {
      if (sql.includes('has_table_privilege')) return [{ missing: 'SELECT on link.links' }]
      return sql.includes('to_regclass') ? [{ exist: true }] : records
    }
    return { query: async (sql: string) => ({ rows: rowsOf(sql) }) } as unknown as Pool
  }

  it('are required, also beside a failed migration of a newer version', async () => {
    const newer = applied({ name: '99990101000000_newer', sql: '' }, { finished: false })
    for (const records of [own, [...own, newer]])
      await expect(requireMigrated(poolWith(records), 'link-redirector')).rejects.toThrow(
        MigrationsPendingError,
      )
    await requireMigrated(poolWith(own))
  })

  it('are those of a newer version that has migrated the database', async () => {
    const newer = applied({ name: '99990101000000_newer', sql: '' })
    await requireMigrated(poolWith([...own, newer]), 'link-redirector')
  })
})
