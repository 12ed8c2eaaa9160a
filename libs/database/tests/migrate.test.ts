import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTestDatabase, services, startProcess, type TestDatabase } from '@waymark/testing'
import type { Pool } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checksumOf, MigrationError, migrate, requireMigrated } from '../src/migrate.ts'
import { createPool } from '../src/pool.ts'

const migrateInAnotherProcess = async (url: string): Promise<string[]> => {
  const module = path.resolve(import.meta.dirname, '../src/migrate.ts')
  const script = `
    const { migrate } = await import(${JSON.stringify(module)})
    console.log(JSON.stringify(await migrate(${JSON.stringify(url)})))`
  const { ended, output, stdout } = startProcess(process.execPath, ['--input-type=module', '-e', script])
  if ((await ended) !== 0) throw new Error(`the migration failed:\n${output()}`)
  return JSON.parse(stdout())
}

describe.skipIf(!services)('migrations', () => {
  let database: TestDatabase
  let pool: Pool
  let directory: string

  beforeEach(async () => {
    database = await createTestDatabase({ empty: true })
    pool = createPool({ url: database.url, max: 2, applicationName: 'test', onError: () => {} })
    directory = await mkdtemp(path.join(tmpdir(), 'waymark-migrations-'))
  })

  afterEach(async () => {
    await pool.end()
    await database.drop()
    await rm(directory, { recursive: true })
  })

  const write = async (name: string, sql: string) => {
    await mkdir(path.join(directory, name), { recursive: true })
    await writeFile(path.join(directory, name, 'migration.sql'), sql)
  }

  const records = async () => {
    const { rows } = await pool.query('SELECT * FROM _prisma_migrations ORDER BY migration_name')
    return rows
  }

  it('are applied once when five processes start at once, and not again', async () => {
    const applied = await Promise.all(Array.from({ length: 5 }, () => migrateInAnotherProcess(database.url)))
    const names = applied.flat()
    expect(names.length).toBeGreaterThan(0)
    expect(new Set(names).size).toBe(names.length)
    expect(await migrate(database.url)).toEqual([])
    expect((await records()).map((record) => record.migration_name)).toEqual(names)
  })

  it('are required', async () => {
    await expect(requireMigrated(pool)).rejects.toThrow(MigrationError)
    await migrate(database.url)
    await requireMigrated(pool)
    await pool.query('DELETE FROM _prisma_migrations')
    await expect(requireMigrated(pool)).rejects.toThrow(/lacks migrations.*_init/)
  })

  it('leave the same records as Prisma', async () => {
    const sql = 'CREATE TABLE a (id INT);\nCREATE TABLE b (id INT);\n'
    await write('1_tables', sql)
    const lines: string[] = []
    await migrate(database.url, { directory, log: (line) => lines.push(line) })
    expect(lines).toEqual(['Applied the migration 1_tables'])
    expect(await records()).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        checksum: checksumOf(sql),
        migration_name: '1_tables',
        started_at: expect.any(Date),
        finished_at: expect.any(Date),
        rolled_back_at: null,
        logs: null,
        applied_steps_count: 1,
      },
    ])
  })

  it('change nothing when they fail, are recorded, and block later runs until resolved', async () => {
    await write('1_good', 'CREATE TABLE a (id INT);')
    await write('2_bad', 'CREATE TABLE b (id INT);\nINSERT INTO missing VALUES (1);')
    await write('3_later', 'CREATE TABLE c (id INT);')
    await expect(migrate(database.url, { directory })).rejects.toThrow(/2_bad failed.*42P01/)

    const tables = await pool.query(
      "SELECT to_regclass('a') AS a, to_regclass('b') AS b, to_regclass('c') AS c",
    )
    expect(tables.rows).toEqual([{ a: 'a', b: null, c: null }])
    const [, failed] = await records()
    expect(failed).toMatchObject({ migration_name: '2_bad', finished_at: null, applied_steps_count: 0 })
    expect(failed.logs).toContain('"missing" does not exist')

    await write('2_bad', 'CREATE TABLE b (id INT);')
    await expect(migrate(database.url, { directory })).rejects.toThrow(/2_bad failed before/)
    await pool.query("UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '2_bad'")
    expect(await migrate(database.url, { directory })).toEqual(['2_bad', '3_later'])
  })

  it('are reported when they were changed after they had been applied', async () => {
    await write('1_first', 'CREATE TABLE a (id INT);')
    await migrate(database.url, { directory })
    await write('1_first', 'CREATE TABLE a (id BIGINT);')
    await expect(migrate(database.url, { directory })).rejects.toThrow(/changed.*1_first/)
  })

  it('leave nothing behind when the connection breaks, and are applied by the next run', async () => {
    await write('1_slow', 'CREATE TABLE a (id INT);\nSELECT pg_sleep(30);')
    const cut = migrate(database.url, { directory })
    const isCut = expect(cut).rejects.toThrow(/terminat/)
    await expect
      .poll(async () => {
        const { rowCount } = await pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()`,
        )
        return rowCount
      })
      .toBe(1)
    await isCut
    expect(await records()).toEqual([])
    await write('1_slow', 'CREATE TABLE a (id INT);')
    expect(await migrate(database.url, { directory })).toEqual(['1_slow'])
  })
})
