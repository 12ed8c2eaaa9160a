import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { openDatabase } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import type { FileStore } from '@waymark/event-files'
import { openDuckDBStore } from '@waymark/event-store/duckdb'
import { createTestDatabase } from '@waymark/testing'
import { expect } from 'vitest'
import { dequeueForGood } from '../src/archive/index.ts'
import { createEventWriter } from '../src/events/event-writer.ts'

/** An event store in memory. */
export const openEventStore = () =>
  openDuckDBStore({ path: ':memory:', memoryBytes: 256 * 1024 * 1024, threads: 1, queryTimeoutMs: 60_000 })

/** A database and a store whose events are archived, and DuckDB, which reads the files of the archive. */
export const openArchiveHarness = async () => {
  const instance = await DuckDBInstance.create()
  const events = await openEventStore()
  const projects: string[] = []
  /** All events that were stored. */
  const written: EnrichedEvent[] = []
  const database = await createTestDatabase()
  const db = openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })

  /** The rows of a query of DuckDB. */
  const query = async (sql: string): Promise<Record<string, unknown>[]> => {
    const connection = await instance.connect()
    try {
      return (await connection.runAndReadAll(sql)).getRowObjectsJson()
    } finally {
      connection.closeSync()
    }
  }

  return {
    db,
    databaseUrl: database.url,
    query,
    events,
    written,

    /** Removes all events and what the archive knows of them. */
    clear: async (): Promise<void> => {
      await db.pool.query(
        `TRUNCATE ingest.archive_queue, ingest.archive_files, ingest.archive_erasures, ingest.events, ingest.event_ids,
           ingest.erasure_jobs`,
      )
      for (const projectId of projects)
        while (await events.removeOldestDay({ projectId, before: Date.now() }));
    },

    /** Erases events as those of an erased person. */
    erase: async (batch: readonly EnrichedEvent[]): Promise<void> => {
      for (const { projectId, eventId, receivedAt } of batch) {
        const eventKey = eventKeyOf(eventId)
        await dequeueForGood(db.pool, projectId, [{ receivedAt: Date.parse(receivedAt), eventKey }])
        await events.eraseEvents([{ projectId, eventKey }])
      }
    },

    /** Adds a project and its tenant. Resolves to its id. */
    addProject: async (settings: Record<string, unknown> = {}): Promise<string> => {
      const [tenantId, id] = [randomUUID(), randomUUID()]
      projects.push(id)
      await db.pool.query(`INSERT INTO core.tenants (id, name) VALUES ($1, 'a tenant')`, [tenantId])
      await db.pool.query(
        `INSERT INTO core.projects (id, tenant_id, name, settings) VALUES ($1, $2, 'a project', $3)`,
        [id, tenantId, settings],
      )
      return id
    },

    /** Stores events and queues those of projects that are archived; by default all. */
    write: async (
      batch: readonly EnrichedEvent[],
      isArchived: (projectId: string) => boolean = () => true,
    ): Promise<void> => {
      written.push(...batch)
      await createEventWriter({
        db,
        projectConfigs: {
          get: async (id: string) => ({
            settings: isArchived(id) ? { archiveEvents: true } : {},
            decisions: { countedEvents: new Set() },
          }),
        } as never,
        eventStore: events,
      })(batch)
    },

    /** Reads the archive in a folder: the files whose names `isIncluded` accepts. */
    archiveIn: (folder: string, isIncluded: (name: string) => boolean = () => true) => {
      const names = async (): Promise<string[]> =>
        (await readdir(folder, { recursive: true, withFileTypes: true }))
          .filter((entry) => entry.isFile())
          .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
          .filter(isIncluded)
          .toSorted()
      const manifests = async () =>
        Promise.all(
          (await names())
            .filter((name) => name.endsWith('.manifest.json'))
            .map(async (name) => JSON.parse(await readFile(path.join(folder, name), 'utf8'))),
        )
      return {
        names,
        manifests,
        /** The events of all files that have a manifest, as DuckDB reads them. */
        rows: async (): Promise<Record<string, unknown>[]> => {
          const all: Record<string, unknown>[] = []
          for (const { file, events } of await manifests()) {
            const reader = file.endsWith('.parquet') ? 'read_parquet' : 'read_json'
            const rows = await query(`SELECT * FROM ${reader}('${path.join(folder, file)}')`)
            expect(rows).toHaveLength(events)
            all.push(...rows)
          }
          return all.toSorted((a, b) => (`${a.eventId}` < `${b.eventId}` ? -1 : 1))
        },
      }
    },

    close: async (): Promise<void> => {
      await db.close()
      await events.close()
      await database.drop()
      instance.closeSync()
    },
  }
}

export type ArchiveHarness = Awaited<ReturnType<typeof openArchiveHarness>>

export const idsOf = (batch: readonly EnrichedEvent[]): string[] =>
  batch.map(({ eventId }) => eventId).toSorted()

/** Runs a job until it finds nothing to do. Resolves to the number of runs that did something. */
export const repeat = async (run: (signal: AbortSignal) => Promise<number>): Promise<number> => {
  const { signal } = new AbortController()
  for (let runs = 0; ; runs++) if ((await run(signal)) === 0) return runs
}

/** A store in which one step fails, before or after its effect. */
export const failingStore = (store: FileStore, step: number, when: 'before' | 'after'): FileStore => {
  let steps = 0
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    const fails = ++steps === step
    if (fails && when === 'before') throw new Error('the store is unavailable')
    const done = await work()
    if (fails) throw new Error('the process crashes')
    return done
  }
  return {
    ...store,
    readRange: (name, start, end) => attempt(() => store.readRange(name, start, end)),
    put: (name, content, signal) => attempt(() => store.put(name, content, signal)),
    remove: (name) => attempt(() => store.remove(name)),
  }
}
