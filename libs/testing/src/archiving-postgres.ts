import pg from 'pg'
import type { StartedTestContainer } from 'testcontainers'
import { startPostgres } from './containers.ts'
import { eventually } from './eventually.ts'

/** The port of the restored server in the container. */
const RESTORED_PORT = 5433
/** After this many seconds PostgreSQL archives a WAL segment that is not full. */
const ARCHIVE_TIMEOUT_S = 2

/** A PostgreSQL server that archives its WAL, and can be restored to a time, beside the original. */
export type ArchivingPostgres = {
  container: StartedTestContainer
  url: string
  /** Makes the base backup. */
  backUp(): Promise<void>
  /** Waits until all WAL so far is archived. */
  waitForArchive(): Promise<void>
  /** Starts a second server from the base backup and the archived WAL up to a time of PostgreSQL. Returns its address. */
  restore(time: string): Promise<string>
  stopRestored(): Promise<void>
}

/** Starts a server with a WAL archive inside its container. */
export const startArchivingPostgres = async (): Promise<ArchivingPostgres> => {
  const { container, url } = await startPostgres({
    ports: [RESTORED_PORT],
    settings: [
      'archive_mode=on',
      `archive_timeout=${ARCHIVE_TIMEOUT_S}`,
      'archive_command=mkdir -p /tmp/archive && cp %p /tmp/archive/%f.new && mv /tmp/archive/%f.new /tmp/archive/%f',
    ],
  })
  const execute = async (command: readonly string[]): Promise<void> => {
    const { exitCode, output } = await container.exec([...command], { user: 'postgres' })
    if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${output}`)
  }
  const readText = async (from: string, sql: string): Promise<string> => {
    const client = new pg.Client(from)
    await client.connect()
    const { rows } = await client.query<{ text: string }>(sql).finally(() => client.end())
    return rows[0]?.text ?? ''
  }
  const restoredUrl = new URL(url)
  restoredUrl.port = `${container.getMappedPort(RESTORED_PORT)}`

  return {
    container,
    url,
    backUp: () => execute(['pg_basebackup', '--pgdata', '/tmp/restored', '--checkpoint', 'fast']),
    waitForArchive: async () => {
      const wal = await readText(url, 'SELECT pg_walfile_name(pg_current_wal_lsn()) AS text')
      await eventually(
        'the WAL is archived without a full segment',
        async () =>
          (await readText(url, "SELECT coalesce(last_archived_wal, '') AS text FROM pg_stat_archiver")) >=
          wal,
      )
    },
    restore: async (time) => {
      const settings = [
        "restore_command = 'cp /tmp/archive/%f %p'",
        `recovery_target_time = '${time}'`,
        'recovery_target_action = promote',
        'archive_mode = off',
        // Recovery refuses fewer connections than the original server had.
        `max_connections = ${await readText(url, "SELECT current_setting('max_connections') AS text")}`,
        "listen_addresses = '*'",
      ]
      await execute([
        'bash',
        '-c',
        `printf '%s\\n' "$@" >>/tmp/restored/postgresql.auto.conf && touch /tmp/restored/recovery.signal`,
        'bash',
        ...settings,
      ])
      await execute([
        'bash',
        '-c',
        `pg_ctl --pgdata /tmp/restored --wait --timeout 120 --log /tmp/restored.log --options '-p ${RESTORED_PORT}' start ||
         { cat /tmp/restored.log; exit 1; }`,
      ])
      await eventually(
        'the restored server accepts writes',
        async () =>
          (await readText(restoredUrl.href, 'SELECT pg_is_in_recovery()::text AS text')) === 'false',
      )
      return restoredUrl.href
    },
    stopRestored: () => execute(['pg_ctl', '--pgdata', '/tmp/restored', '--mode', 'immediate', 'stop']),
  }
}
