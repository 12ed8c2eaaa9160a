import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openDatabase } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import {
  archiveConfig,
  createScope,
  embeddedPlatform,
  limitsConfig,
  openArchive,
  readConfig,
  startService,
} from '@waymark/service-kit'
import { anEnrichedEvent, createMemoryLog, createTestDatabase, eventually, services } from '@waymark/testing'
import { it, onTestFinished } from 'vitest'
import { createPersistenceConsumer } from '../src/app.ts'

const QUEUE = 'INSERT INTO ingest.archive_queue (project_id, received_at, event_key) VALUES ($1, $2, $3)'
const ERASURE = `
  INSERT INTO ingest.archive_erasures (id, project_id, profile_ids, erased_at, due_at)
  VALUES (gen_random_uuid(), $1, ARRAY[$2::uuid], now(), now() - interval '1 second')`
const HTTP = { port: 0, metricsPort: 0, trustedProxies: 0 }
const LATER_MS = 3 * 60 * 60 * 1000

it.skipIf(!services)(
  'writes the archive of hours that are over, takes erased people out of it, and does not wait where there is none',
  async () => {
    const [projectId, tenantId, ann, ben] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    const folder = await mkdtemp(path.join(tmpdir(), 'archive-'))
    const database = await createTestDatabase()
    const db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
    onTestFinished(async () => {
      await db.close()
      await database.drop()
      await rm(folder, { recursive: true })
    })
    await db.pool.query(`INSERT INTO core.tenants (id, name) VALUES ($1, 'a tenant')`, [tenantId])
    await db.pool.query(`INSERT INTO core.projects (id, tenant_id, name) VALUES ($1, $2, 'a project')`, [
      projectId,
      tenantId,
    ])
    const receivedAt = `${new Date().toISOString().slice(0, 13)}:00:00.000Z`
    const events = [ann, ben].map((profileId) => ({
      ...anEnrichedEvent({ projectId, receivedAt, event: { eventId: randomUUID() } }),
      profileId,
    }))
    const queue = async () => {
      for (const { eventId } of events)
        await db.pool.query(QUEUE, [projectId, receivedAt, eventKeyOf(eventId)])
    }
    await queue()

    /** Runs the consumer until a counter has a value, and the files are as expected. */
    const runUntil = async (
      counter: string,
      isExpected: (names: string[]) => boolean | Promise<boolean>,
      hasArchive = true,
    ): Promise<void> => {
      const log = createMemoryLog()
      const scope = createScope(log)
      const embedded = await embeddedPlatform(
        { databaseUrl: database.url, limits: readConfig(limitsConfig, {}) },
        { name: 'persistence', log, scope },
      )
      await embedded.eventStore.storeEvents(events)
      const platform = { ...embedded, clock: () => Date.now() + LATER_MS }
      try {
        const archive = hasArchive
          ? await openArchive(readConfig(archiveConfig, { ARCHIVE_FORMAT: 'jsonl.gz' }), folder)
          : undefined
        await startService(createPersistenceConsumer(platform, archive), HTTP, platform, scope)
        await eventually(counter, async () => {
          const lines = (await platform.metrics.metrics()).split('\n')
          return lines.includes(counter) && (await isExpected(await readdir(folder, { recursive: true })))
        })
      } finally {
        await scope.dispose()
      }
    }
    const isEmpty = async (table: string) =>
      (await db.pool.query(`SELECT FROM ingest.${table}`)).rowCount === 0
    const some = (names: string[], end: string) => names.some((name) => name.endsWith(end))
    await runUntil('waymark_archived_events_total 2', (names) => some(names, '.manifest.json'))

    await db.pool.query(ERASURE, [projectId, ann])
    await runUntil(
      'waymark_archive_erased_events_total 1',
      async (names) =>
        some(names, '_2.jsonl.gz') && !some(names, '_1.jsonl.gz') && (await isEmpty('archive_erasures')),
    )

    // The project has no setting for an archive.
    await queue()
    await runUntil('waymark_archive_erasure_delay_seconds 0', () => isEmpty('archive_queue'), false)
  },
)
