import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, requireServices, services, startPostgres } from '@waymark/testing'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate } from '../src/migrate.ts'

/** Unlike the default port, that of the restored server. */
const RESTORED_PORT = 5433
/** After this many seconds PostgreSQL archives a WAL segment that is not full. */
const ARCHIVE_TIMEOUT_S = 2

const INSERT = `INSERT INTO ingest.dead_letters (topic, partition, "offset", consumer_group, value, reason, failed_at)
  SELECT 'events.enriched.v1', 0, n, 'persistence', 'x', 'a reason', now() FROM generate_series($1::int, $2) AS n`

describe.skipIf(!services)('a restore of PostgreSQL from a base backup and archived WAL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>
  let primary: Client

  const execute = async (command: readonly string[]): Promise<string> => {
    const { exitCode, output } = await server.container.exec([...command], { user: 'postgres' })
    if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${output}`)
    return output.trim()
  }
  const onRestored = (sql: string): Promise<string> =>
    execute(['psql', '-qAtX', '--port', `${RESTORED_PORT}`, '--command', sql])
  const textOf = async (sql: string): Promise<string> => {
    const { rows } = await primary.query<{ text: string }>(sql)
    return rows[0]?.text ?? ''
  }

  beforeAll(async () => {
    requireServices()
    server = await startPostgres({
      settings: [
        'archive_mode=on',
        `archive_timeout=${ARCHIVE_TIMEOUT_S}`,
        'archive_command=mkdir -p /tmp/archive && cp %p /tmp/archive/%f.new && mv /tmp/archive/%f.new /tmp/archive/%f',
      ],
    })
    await migrate(server.url)
    primary = new Client({ connectionString: server.url })
    await primary.connect()
  })
  afterAll(async () => {
    await primary.end()
    await server.container.stop({ timeout: 0 })
  })

  it('has everything that was committed before the chosen time, and nothing after it', async () => {
    await primary.query(INSERT, [1, 1_000])
    await execute(['pg_basebackup', '--pgdata', '/tmp/restored', '--checkpoint', 'fast'])
    await primary.query(INSERT, [1_001, 2_000])
    const before = await textOf('SELECT clock_timestamp()::text AS text')
    // So that the accident is after that time by any clock resolution.
    await sleep(10)
    await primary.query('DELETE FROM ingest.dead_letters')

    const wal = await textOf('SELECT pg_walfile_name(pg_current_wal_lsn()) AS text')
    const deletedAt = performance.now()
    await eventually(
      'the WAL is archived without a full segment',
      async () =>
        (await textOf('SELECT coalesce(last_archived_wal, $$$$) AS text FROM pg_stat_archiver')) >= wal,
    )
    const archivedMs = performance.now() - deletedAt

    const restoredAt = performance.now()
    const settings = [
      "restore_command = 'cp /tmp/archive/%f %p'",
      `recovery_target_time = '${before}'`,
      'recovery_target_action = promote',
      'archive_mode = off',
      // Recovery refuses fewer connections than the original server had.
      `max_connections = ${await textOf("SELECT current_setting('max_connections') AS text")}`,
    ]
    await execute([
      'bash',
      '-c',
      `printf '%s\\n' "$@" >>/tmp/restored/postgresql.auto.conf && touch /tmp/restored/recovery.signal`,
      'bash',
      ...settings,
    ])
    await execute([
      'pg_ctl',
      ...['--pgdata', '/tmp/restored', '--wait', '--timeout', '120', '--log', '/tmp/restored.log'],
      ...['--options', `-p ${RESTORED_PORT}`, 'start'],
    ])
    await eventually(
      'the restored server accepts writes',
      async () => (await onRestored('SELECT pg_is_in_recovery()')) === 'f',
    )
    process.stdout.write(
      `restore: WAL archived after ${Math.round(archivedMs)} ms, restored in ${Math.round(performance.now() - restoredAt)} ms\n`,
    )

    expect(await onRestored('SELECT count(*), max("offset") FROM ingest.dead_letters')).toBe('2000|2000')
    expect(await textOf('SELECT count(*)::text AS text FROM ingest.dead_letters')).toBe('0')
    expect(await onRestored('SELECT count(*) FROM _prisma_migrations WHERE finished_at IS NOT NULL')).toBe(
      await textOf('SELECT count(*)::text AS text FROM _prisma_migrations'),
    )
    expect(await onRestored('SELECT count(*) FROM pg_index WHERE NOT indisvalid')).toBe('0')
    await onRestored('UPDATE ingest.dead_letters SET reason = \'restored\' WHERE "offset" = 1')
    await execute(['pg_ctl', '--pgdata', '/tmp/restored', '--mode', 'immediate', 'stop'])
  })
})
