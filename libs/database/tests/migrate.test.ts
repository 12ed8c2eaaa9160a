import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTestDatabase, eventually, services, startProcess, type TestDatabase } from '@waymark/testing'
import { Client, type Pool } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checksumOf, hasNewerMigrations, migrate, requireMigrated } from '../src/migrate.ts'
import { MigrationError, MigrationsPendingError } from '../src/migration-error.ts'
import { createPool } from '../src/pool.ts'

const startMigrator = (url: string, directory?: string) => {
  const module = path.resolve(import.meta.dirname, '../src/migrate.ts')
  const script = `
    const { migrate } = await import(${JSON.stringify(module)})
    console.log(JSON.stringify(await migrate(${JSON.stringify(url)}, ${JSON.stringify({ directory })})))`
  return startProcess(process.execPath, ['--input-type=module', '-e', script])
}

const migrateInAnotherProcess = async (url: string, directory?: string): Promise<string[]> => {
  const { ended, output, stdout } = startMigrator(url, directory)
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
    await write('1_slow', 'CREATE TABLE a (id INT);\nSELECT pg_sleep(600);')
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

  it('run on a connection whose loss the server notices, and wait longer than an autovacuum needs', async () => {
    await write(
      '1_settings',
      `CREATE TABLE public.settings AS SELECT current_setting('tcp_keepalives_idle')::int AS idle,
         current_setting('lock_timeout')::interval > current_setting('deadlock_timeout')::interval AS longer;`,
    )
    await migrate(database.url, { directory })
    expect((await pool.query('SELECT * FROM settings')).rows).toEqual([{ idle: 10, longer: true }])
  })

  it('of a newer version do not matter, even if one failed', async () => {
    await migrate(database.url)
    expect(await hasNewerMigrations(pool)).toBe(false)
    await pool.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, logs)
       VALUES ('1', 'x', '29990101000000_later', 'it failed')`,
    )
    await requireMigrated(pool)
    expect(await migrate(database.url)).toEqual([])
    expect(await hasNewerMigrations(pool)).toBe(false)
    await pool.query(`UPDATE _prisma_migrations SET finished_at = now() WHERE id = '1'`)
    await requireMigrated(pool)
    expect(await hasNewerMigrations(pool)).toBe(true)
  })

  it('that are missing are distinguished from one that failed', async () => {
    await expect(requireMigrated(pool)).rejects.toThrow(MigrationsPendingError)
    await migrate(database.url)
    await pool.query(
      `UPDATE _prisma_migrations SET finished_at = NULL, logs = 'it failed' WHERE migration_name LIKE '%_init'`,
    )
    await expect(requireMigrated(pool)).rejects.not.toThrow(MigrationsPendingError)
    await expect(requireMigrated(pool)).rejects.toThrow(/_init failed before/)
  })

  describe('beside writers', () => {
    const connect = async () => {
      const client = new Client({ connectionString: database.url })
      await client.connect()
      return client
    }

    beforeEach(async () => {
      await write('1_table', 'CREATE TABLE public.a (id INT, name TEXT);')
      await migrate(database.url, { directory })
      await pool.query(`INSERT INTO a SELECT n, 'x' FROM generate_series(1, 1000) AS n`)
    })

    /** Writes rows until it is stopped. `rows` is how many. */
    const startWriter = () => {
      let going = true
      let rows = 0
      const done = (async () => {
        for (; going; rows++) await pool.query('INSERT INTO a VALUES ($1)', [rows])
      })()
      return {
        rows: () => rows,
        stop: async () => {
          going = false
          await done
        },
      }
    }

    it('wait for a long transaction without making them wait behind it', async () => {
      await write('2_column', 'ALTER TABLE public.a ADD COLUMN more INT;')
      const reader = await connect()
      await reader.query('BEGIN')
      await reader.query('SELECT count(*) FROM a')
      const rowWriter = startWriter()
      const lines: string[] = []
      const migrated = migrate(database.url, {
        directory,
        log: (line) => lines.push(line),
        lockPauseMs: 100,
      })
      await eventually('it has tried three times', () => lines.length >= 3)
      expect(lines[0]).toContain('2_column did not get a lock')
      const written = rowWriter.rows()
      await eventually('writes continue', () => rowWriter.rows() > written + 1)
      await reader.query('COMMIT')
      expect(await migrated).toEqual(['2_column'])
      await rowWriter.stop()
      await reader.end()
      expect((await records()).map(({ logs, finished_at }) => [logs, finished_at !== null])).toEqual([
        [null, true],
        [null, true],
      ])
    })

    it('stop waiting for a lock when they are aborted, and are applied by the next run', async () => {
      await write('2_column', 'ALTER TABLE public.a ADD COLUMN more INT;')
      const reader = await connect()
      await reader.query('BEGIN')
      await reader.query('SELECT count(*) FROM a')
      const aborting = new AbortController()
      // Longer than the test may take.
      const options = { directory, lockPauseMs: 600_000, signal: aborting.signal }
      const warn = () => aborting.abort()
      await expect(migrate(database.url, { ...options, warn })).rejects.toThrow('aborted')
      await reader.query('COMMIT')
      await reader.end()
      expect(await records()).toHaveLength(1)
      expect(await migrate(database.url, { directory })).toEqual(['2_column'])
    })

    it('stop waiting for another process, and begin no further migration, when they are aborted', async () => {
      await write('2_column', 'ALTER TABLE public.a ADD COLUMN more INT;')
      const aborting = new AbortController()
      const options = { directory, signal: aborting.signal }
      const whileLocked = async () => {
        const waiting = migrate(database.url, { ...options, warn: () => aborting.abort() })
        await expect(waiting).rejects.toThrow('aborted')
      }
      await expect(migrate(database.url, { ...options, whileLocked })).rejects.toThrow('aborted')
      expect(await records()).toHaveLength(1)
    })

    it('build an index concurrently while a transaction is open and another migrator waits', async () => {
      const name = '2_index'
      await write(
        name,
        '-- For lists by name.\nCREATE INDEX CONCURRENTLY IF NOT EXISTS "a_name_idx"\n  ON "public"."a"("name");\n',
      )
      const writer = await connect()
      await writer.query('BEGIN')
      await writer.query('INSERT INTO a VALUES (0)')
      const migrators = [
        migrateInAnotherProcess(database.url, directory),
        migrateInAnotherProcess(database.url, directory),
      ]
      await eventually('one waits for the transaction', async () => {
        const { rows } = await pool.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
           AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'`,
        )
        return rows.length === 1
      })
      // Not behind the index.
      const rowWriter = startWriter()
      await writer.query('INSERT INTO a VALUES (0)')
      await eventually('writes continue', () => rowWriter.rows() > 1)
      await rowWriter.stop()
      await writer.query('COMMIT')
      await writer.end()
      expect((await Promise.all(migrators)).flat()).toEqual([name])
      const { rows } = await pool.query(
        `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 'a_name_idx'::regclass`,
      )
      expect(rows).toEqual([{ valid: true }])
      expect((await records()).at(-1)).toMatchObject({ migration_name: name, applied_steps_count: 1 })
    })

    it('build an index again that a killed migrator left invalid', async () => {
      await write('2_index', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS a_name_idx ON public.a (name);')
      const writer = await connect()
      await writer.query('BEGIN')
      await writer.query('INSERT INTO a VALUES (0)')
      const killed = startMigrator(database.url, directory)
      const invalid = async () => {
        const { rows } = await pool.query<{ valid: boolean }>(
          `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('a_name_idx')`,
        )
        return rows[0]?.valid === false
      }
      await eventually('the index is begun', invalid)
      const { rows: building } = await pool.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONC%'`,
      )
      await killed.kill()
      const resumed = migrateInAnotherProcess(database.url, directory)
      // The server notices the killed process within 10 s, and ends its statement.
      await eventually('the session of the killed migrator is gone', async () => {
        const { rows } = await pool.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [building[0]?.pid])
        return rows.length === 0
      })
      await eventually('the index is still invalid', invalid)
      await writer.query('COMMIT')
      await writer.end()
      expect(await resumed).toEqual(['2_index'])
      expect(await invalid()).toBe(false)
    })

    it('leave no invalid index when its build fails', async () => {
      await pool.query(`INSERT INTO a VALUES (1, 'twice')`)
      await write('2_unique', 'CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS a_id_key ON public.a (id);')
      await expect(migrate(database.url, { directory })).rejects.toThrow(
        /2_unique failed and changed nothing.*23505/,
      )
      const { rows } = await pool.query(`SELECT to_regclass('a_id_key') AS index`)
      expect(rows).toEqual([{ index: null }])
      await expect(migrate(database.url, { directory })).rejects.toThrow(/2_unique failed before/)
    })

    it('build two indexes on partitions whose names begin alike', async () => {
      await write(
        '2_partitions',
        `CREATE TABLE public.p (id INT NOT NULL, name TEXT) PARTITION BY RANGE (id);
         CREATE TABLE public.p_1 PARTITION OF public.p FOR VALUES FROM (0) TO (10);`,
      )
      const longName = (end: string) => `${'i'.repeat(62)}${end}`
      const create = (name: string, column: string) =>
        `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON public.p (${column});`
      await write('3_id', create(longName('a'), 'id'))
      await write('4_name', create(longName('b'), 'name'))
      expect(await migrate(database.url, { directory })).toEqual(['2_partitions', '3_id', '4_name'])
      const { rows } = await pool.query<{ columns: string }>(
        `SELECT pg_get_indexdef(indexrelid, 1, true) AS columns FROM pg_index
         WHERE indrelid = 'public.p_1'::regclass AND indisvalid ORDER BY 1`,
      )
      expect(rows).toEqual([{ columns: 'id' }, { columns: 'name' }])
    })

    it('build an index on every partition, continue after an interruption, and drop an index', async () => {
      await write(
        '2_partitions',
        `CREATE TABLE public.p (id INT NOT NULL, name TEXT) PARTITION BY RANGE (id);
         CREATE TABLE public.p_1 PARTITION OF public.p FOR VALUES FROM (0) TO (10);
         CREATE TABLE public.p_2 PARTITION OF public.p FOR VALUES FROM (10) TO (20);`,
      )
      await migrate(database.url, { directory })
      // What a run leaves that was interrupted after the first partition.
      await pool.query('CREATE INDEX p_name_idx ON ONLY public.p (name)')
      await pool.query('CREATE INDEX p_1_p_name_idx ON public.p_1 (name)')
      await pool.query('ALTER INDEX public.p_name_idx ATTACH PARTITION public.p_1_p_name_idx')
      await write('3_index', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS p_name_idx ON public.p (name);')
      expect(await migrate(database.url, { directory })).toEqual(['3_index'])
      await pool.query('CREATE TABLE public.p_3 PARTITION OF public.p FOR VALUES FROM (20) TO (30)')
      const { rows } = await pool.query<{ on: string; valid: boolean }>(
        `SELECT indrelid::regclass::text AS on, indisvalid AS valid FROM pg_index
         WHERE indrelid::regclass::text ~ '^p(_|$)' ORDER BY 1`,
      )
      expect(rows).toEqual(['p', 'p_1', 'p_2', 'p_3'].map((on) => ({ on, valid: true })))
      await write('4_drop', 'DROP INDEX CONCURRENTLY IF EXISTS public.a_name_idx;')
      await pool.query('CREATE INDEX a_name_idx ON a (name)')
      expect(await migrate(database.url, { directory })).toEqual(['4_drop'])
      expect((await pool.query(`SELECT to_regclass('a_name_idx') AS index`)).rows).toEqual([{ index: null }])
    })
  })
})
