import { randomUUID } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { openDatabase } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { openS3Store } from '@waymark/event-files'
import type { EventStore } from '@waymark/event-store'
import { migrateClickHouse, openClickHouseStore } from '@waymark/event-store/clickhouse'
import { createArchiver } from '@waymark/pipeline'
import {
  anEnrichedEvent,
  createTestDatabase,
  executeOnClickHouse,
  hasS3Server,
  requireServices,
  type S3Server,
  services,
  startProcess,
  startS3Server,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const QUEUE = 'INSERT INTO ingest.archive_queue (project_id, received_at, event_key) VALUES ($1, $2, $3)'
const ERASURE = `
  INSERT INTO ingest.archive_erasures (id, project_id, profile_ids, erased_at, due_at)
  VALUES (gen_random_uuid(), $1, ARRAY[$2::uuid], now(), now() - interval '1 second')`

describe.skipIf(!services || !hasS3Server)('the commands of the archive', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  let server: S3Server
  let events: EventStore
  let clickhouse: { url: string; database: string }
  beforeAll(async () => {
    clickhouse = { url: requireServices().clickhouseUrl, database: `t${randomUUID().replaceAll('-', '')}` }
    const options = { ...clickhouse, queryTimeoutMs: 60_000, queryMemoryBytes: 512 * 1024 * 1024 }
    await migrateClickHouse(options)
    events = openClickHouseStore(options)
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
    server = await startS3Server()
  })
  afterAll(async () => {
    await server?.stop()
    await events?.close()
    await executeOnClickHouse(clickhouse.url, `DROP DATABASE IF EXISTS ${clickhouse.database}`)
    await db?.close()
    await database?.drop()
  })

  /** Runs a command, and returns its exit code and output. */
  const run = async (command: string, env: NodeJS.ProcessEnv = {}) => {
    const started = startProcess(process.execPath, [path.join(import.meta.dirname, `../src/${command}.ts`)], {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: database.url,
        CLICKHOUSE_URL: clickhouse.url,
        CLICKHOUSE_DATABASE: clickhouse.database,
        ARCHIVE_S3_BUCKET: server.bucket,
        ARCHIVE_S3_ENDPOINT: server.endpoint,
        ARCHIVE_S3_ACCESS_KEY_ID: server.accessKeyId,
        ARCHIVE_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
        ...env,
      },
    })
    return [await started.ended, started.output()]
  }

  it('erase people, and say what is left', async () => {
    const [projectId, tenantId, ann, ben] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    await db.pool.query(`INSERT INTO core.tenants (id, name) VALUES ($1, 'a tenant')`, [tenantId])
    await db.pool.query(`INSERT INTO core.projects (id, tenant_id, name) VALUES ($1, $2, 'a project')`, [
      projectId,
      tenantId,
    ])
    const receivedAt = `${new Date().toISOString().slice(0, 13)}:00:00.000Z`
    const idOfAnn = randomUUID()
    for (const [profileId, eventId] of [
      [ann, idOfAnn],
      [ben, randomUUID()],
    ] as const) {
      const event = anEnrichedEvent({ projectId, receivedAt, event: { eventId } })
      await events.storeEvents([{ ...event, profileId }])
      await db.pool.query(QUEUE, [projectId, receivedAt, eventKeyOf(eventId)])
    }
    const store = await openS3Store({ ...server, prefix: '' })
    const later = () => Date.now() + 3 * 60 * 60 * 1000
    const log = { warn: () => {} }
    expect(
      await createArchiver({ db, store, events, format: 'parquet', log, now: later })(
        new AbortController().signal,
      ),
    ).toBe(1)
    expect(await run('verify-archive')).toEqual([0, '1 files with 2 events, 0 problems\n'])

    await events.eraseEvents([{ projectId, eventKey: eventKeyOf(idOfAnn) }])
    await db.pool.query(ERASURE, [projectId, ann])
    expect(await run('erase-archive')).toEqual([0, '1 events taken out of 1 files, 0 erasures left\n'])
    expect(await run('verify-archive')).toEqual([0, '1 files with 1 events, 0 problems\n'])
    expect(await run('erase-archive')).toEqual([0, '0 events taken out of 0 files, 0 erasures left\n'])

    const names = await readdir(server.folder, { recursive: true })
    const file = names.find((name) => name.endsWith('.parquet')) ?? ''
    await writeFile(path.join(server.folder, file), 'damaged')
    await db.pool.query(ERASURE, [projectId, ben])
    expect(await run('erase-archive')).toEqual([
      1,
      `${file} is missing or too short\n0 events taken out of 0 files, 1 erasures left\n`,
    ])
    for (const name of ['copy.parquet', 'notes.txt'])
      await writeFile(path.join(server.folder, 'events', name), 'more')
    expect(await run('verify-archive')).toEqual([
      1,
      [
        `${file} has another SHA-256 than its manifest`,
        'events/copy.parquet is named by no manifest',
        'events/notes.txt is not a file of the archive',
        '1 files with 1 events, 2 problems\n',
      ].join('\n'),
    ])
  })

  it('need an archive', async () => {
    expect(await run('erase-archive', { ARCHIVE_S3_BUCKET: '' })).toEqual([
      1,
      expect.stringContaining('ARCHIVE_S3_BUCKET is not set, so there is no archive'),
    ])
  })
})
