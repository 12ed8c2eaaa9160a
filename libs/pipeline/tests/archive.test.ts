import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { createDirectoryStore, type FileStore } from '@waymark/event-files'
import { anEnrichedEvent, services } from '@waymark/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimRewrite } from '../src/archive/archive-erasure-queries.ts'
import { type ArchiveFormat, type ArchiverDeps, createArchiver } from '../src/archive/archive-events.ts'
import { fileName } from '../src/archive/archive-file.ts'
import {
  countHours,
  createArchivedUntil,
  forgetQueued,
  listFinishedFiles,
  readArchiveDelay,
} from '../src/archive/archive-queries.ts'
import { verifyArchive } from '../src/archive/verify-archive.ts'
import { createRetention } from '../src/retention/remove-old-events.ts'
import { type ArchiveHarness, failingStore, idsOf, openArchiveHarness, repeat } from './archive-harness.ts'

const HOUR_MS = 3_600_000
const HOUR = Date.parse('2026-02-01T10:00:00Z')
const NOW = HOUR + 3 * HOUR_MS
const never = new AbortController().signal

describe.skipIf(!services)('the archive', () => {
  let harness: ArchiveHarness
  let db: ArchiveHarness['db']
  let archive: ReturnType<ArchiveHarness['archiveIn']>
  let folder: string
  let store: FileStore
  let projectId: string

  beforeAll(async () => {
    harness = await openArchiveHarness()
    db = harness.db
  })
  afterAll(() => harness?.close())
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'archive-'))
    store = createDirectoryStore(folder)
    archive = harness.archiveIn(folder)
    await harness.clear()
    archived.clear()
    projectId = await addProject()
  })
  afterEach(() => rm(folder, { recursive: true }))

  /** The projects whose events are archived. */
  const archived = new Set<string>()
  const addProject = async (): Promise<string> => {
    const id = await harness.addProject({ archiveEvents: true, retentionDays: 1 })
    archived.add(id)
    return id
  }

  const events = (count: number, from = HOUR, project = projectId): EnrichedEvent[] =>
    Array.from({ length: count }, (_, n) => {
      const receivedAt = new Date(from + n).toISOString()
      const made = anEnrichedEvent({
        projectId: project,
        receivedAt,
        event: { eventId: randomUUID(), properties: { n, text: `'"ä\n${n}` } },
      })
      return { ...made, timestamp: receivedAt }
    })
  const write = (batch: readonly EnrichedEvent[]) => harness.write(batch, (id) => archived.has(id))
  const archiver = (deps: Partial<ArchiverDeps> = {}) =>
    createArchiver({
      ...{
        db,
        store,
        events: harness.events,
        format: 'parquet' as const,
        log: { warn: () => {} },
        now: () => NOW,
      },
      ...deps,
    })
  const archiveAll = (deps: Partial<ArchiverDeps> = {}) => repeat(archiver(deps))
  const archivedIds = async () => (await archive.rows()).map(({ eventId }) => eventId)
  const isQueueEmpty = async () => (await db.pool.query('SELECT FROM ingest.archive_queue')).rowCount === 0
  /** Everything that must hold once nothing is left to do. */
  const expectArchived = async (expected: readonly EnrichedEvent[]) => {
    expect(await archivedIds()).toEqual(idsOf(expected))
    expect(await isQueueEmpty()).toBe(true)
    expect((await verifyArchive(db.pool, store, harness.events)).problems).toEqual([])
    // Nothing is left of attempts that do not count.
    const files = (await archive.names()).filter((name) => !name.endsWith('.manifest.json'))
    expect(files).toEqual((await archive.manifests()).map(({ file }) => file).toSorted())
  }
  const expireLeases = () =>
    // `now()` alone may be rounded up to the next millisecond.
    db.pool.query(`UPDATE ingest.archive_files SET lease_until = now() - interval '1 second'`)

  it('has the events of hours that are over, as they are stored', async () => {
    const [first, second] = [events(450), events(3, HOUR + HOUR_MS)]
    const current = events(2, NOW)
    const other = events(2, HOUR, randomUUID())
    await write([...first, ...second, ...current, ...other])
    expect(await readArchiveDelay(db.pool)).toBeGreaterThan(0)
    expect(await archiveAll()).toBe(2)
    expect(await archivedIds()).toEqual(idsOf([...first, ...second]))
    const [manifest] = await archive.manifests()
    expect(manifest).toMatchObject({
      version: 1,
      projectId,
      hour: '2026-02-01T10:00:00.000Z',
      format: 'parquet',
      events: 450,
      firstReceivedAt: first[0]?.receivedAt,
      lastReceivedAt: first.at(-1)?.receivedAt,
    })
    expect(manifest.file).toMatch(/^events\/date=2026-02-01\/hour=10\/[0-9a-f-]+_[0-9a-f-]+_1\.parquet$/)
    const rows = await harness.query(
      `SELECT "projectId", properties, epoch_ms("receivedAt") AS received, date::text AS "date", hour::text AS "hour"
       FROM read_parquet('${folder}/events/**/*.parquet', hive_partitioning = true, hive_types_autocast = false) ORDER BY received`,
    )
    expect(rows).toEqual(
      [...first, ...second].map(({ properties, receivedAt }) => ({
        projectId,
        properties: JSON.stringify(properties),
        received: `${Date.parse(receivedAt)}`,
        date: '2026-02-01',
        hour: receivedAt.slice(11, 13),
      })),
    )
    const { rows: queued } = await db.pool.query(
      'SELECT DISTINCT project_id, file_id FROM ingest.archive_queue',
    )
    expect(queued).toEqual([{ project_id: projectId, file_id: null }])
  })

  it('has late events in a further file, and redelivered ones once', async () => {
    const [first, late] = [events(5), events(5, HOUR + 1_000)]
    await write(first)
    await archiveAll()
    await write([...late, ...first])
    expect(await archiveAll()).toBe(1)
    expect(await archive.manifests()).toHaveLength(2)
    await expectArchived([...first, ...late])
  })

  it.each([
    [250, [250]],
    [251, [250, 1]],
  ])('has files of at most a number of events: %i', async (count, sizes) => {
    const batch = events(count)
    await write(batch)
    expect(await archiveAll({ maxEvents: 250 })).toBe(sizes.length)
    expect((await archive.manifests()).map((one) => one.events)).toEqual(sizes)
    await expectArchived(batch)
  })

  it('can be gzipped JSON lines', async () => {
    const batch = events(250)
    await write(batch)
    await archiveAll({ format: 'jsonl.gz' })
    const [{ file }] = await archive.manifests()
    expect(
      await harness.query(`SELECT properties.n::int AS n FROM read_json('${folder}/${file}') ORDER BY n`),
    ).toEqual(batch.map((_, n) => ({ n })))
    await expectArchived(batch)
  })

  it.each([
    [1, 'before'],
    [1, 'after'],
    [2, 'before'],
    [2, 'after'],
  ] as const)('has each event once when step %i fails %s its effect', async (step, when) => {
    const batch = events(300)
    await write(batch)
    await expect(archiver({ store: failingStore(store, step, when) })(never)).rejects.toThrow()
    // Claims of other hours wait until this one is done.
    await write(events(1, HOUR + HOUR_MS))
    await expireLeases()
    await archiver()(never)
    expect(await archive.manifests()).toHaveLength(1)
    await db.pool.query(`DELETE FROM ingest.archive_queue`)
    await expectArchived(batch)
  })

  it('has each event once when another process takes over a file that is being written', async () => {
    const batch = events(300)
    await write(batch)
    const [reached, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow: FileStore = {
      ...store,
      put: async (name, content, signal) => {
        reached.resolve()
        await go.promise
        await store.put(name, content, signal)
      },
    }
    const overtaken = archiver({ store: slow })(never)
    await reached.promise
    await expireLeases()
    expect(await archiveAll()).toBe(1)
    go.resolve()
    expect(await overtaken).toBe(1)
    await expectArchived(batch)
  })

  it('has each event once when several processes write', async () => {
    const batches = [events(300), events(300, HOUR + HOUR_MS)]
    for (const batch of batches) await write(batch)
    await Promise.all([1, 2, 3].map(() => archiveAll({ maxEvents: 100 })))
    await expectArchived(batches.flat())
  })

  it('writes the missed files after the store was unavailable', async () => {
    const batch = events(10)
    await write(batch)
    const away: FileStore = { ...store, put: async () => Promise.reject(new Error('no connection')) }
    const waits: unknown[] = []
    for (let n = 0; n < 7; n++) {
      await expect(archiver({ store: away })(never)).rejects.toThrow('no connection')
      // It is not due, and its project begins no other file meanwhile.
      expect(await archiver({ store: away })(never)).toBe(0)
      const { rows } = await db.pool.query(
        'SELECT extract(epoch FROM lease_until - now())::float8 AS wait FROM ingest.archive_files',
      )
      waits.push(...rows.map(({ wait }) => Math.round(wait / 30) * 30))
      await expireLeases()
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 600, 600])
    expect(await readArchiveDelay(db.pool)).toBeGreaterThan(0)
    await archiveAll()
    expect(await readArchiveDelay(db.pool)).toBe(0)
    await expectArchived(batch)
  })

  it('continues with other projects while the files of one fail', async () => {
    const other = await addProject()
    const [poisoned, healthy] = [events(10), events(10, HOUR + HOUR_MS, other)]
    await write([...poisoned, ...events(10, HOUR + HOUR_MS), ...healthy])
    const refusing: FileStore = {
      ...store,
      put: (name, content, signal) =>
        name.includes(`/${projectId}_`)
          ? Promise.reject(new Error('no such file'))
          : store.put(name, content, signal),
    }
    await expect(archiver({ store: refusing })(never)).rejects.toThrow('no such file')
    expect(await archiveAll({ store: refusing })).toBe(1)
    expect(await archivedIds()).toEqual(idsOf(healthy))
    // Once it is due again, new files of others still go first.
    await expireLeases()
    const late = events(10, HOUR + HOUR_MS, other)
    await write(late)
    expect(await archiver({ store: refusing })(never)).toBe(1)
    expect(await archivedIds()).toEqual(idsOf([...healthy, ...late]))
    await expect(archiver({ store: refusing })(never)).rejects.toThrow('no such file')
    await expireLeases()
    expect(await archiveAll()).toBe(2)
    expect(await isQueueEmpty()).toBe(true)
  })

  it.each(['parquet', 'jsonl.gz'] as const)(
    'survives an upload that ends in the middle: %s',
    async (format) => {
      const batch = events(600)
      await write(batch)
      const breaking: FileStore = {
        ...store,
        put: async (_, content) => {
          for await (const piece of content) if (piece) throw new Error('the connection is lost')
        },
      }
      await expect(archiver({ store: breaking, format })(never)).rejects.toThrow('the connection is lost')
      await expireLeases()
      await archiveAll({ format })
      await expectArchived(batch)
    },
  )

  it('releases a file at once, and not as a failure, when its process stops', async () => {
    const batch = events(10)
    await write(batch)
    const stopping = new AbortController()
    const stopped: FileStore = {
      ...store,
      put: async (name, content, signal) => {
        stopping.abort()
        await store.put(name, content, signal)
      },
    }
    await expect(archiver({ store: stopped })(stopping.signal)).rejects.toThrow()
    expect(await archiveAll()).toBe(1)
    await expectArchived(batch)
  })

  it('has an event with the least id at the beginning of its hour', async () => {
    const [first] = events(1)
    const least = anEnrichedEvent({
      projectId,
      receivedAt: new Date(HOUR).toISOString(),
      event: { eventId: '00000000-0000-0000-0000-000000000000' },
    })
    await write(first ? [first, least] : [])
    await archiveAll()
    await expectArchived(first ? [first, least] : [])
  })

  it('leaves out events that were erased before, and writes no file without events', async () => {
    const [kept, erased] = [events(3), events(2, HOUR + HOUR_MS)]
    await write([...kept, ...erased])
    await harness.erase(erased)
    await archiveAll()
    await expectArchived(kept)
  })

  it('waits for events that are not in the event store yet', async () => {
    const batch = events(3)
    await write(batch)
    const key = { projectId, eventKey: eventKeyOf(batch[1]?.eventId ?? '') }
    await harness.events.eraseEvents([key])
    await expect(archiveAll()).rejects.toThrow('1 queued events are not in the event store yet')
    expect(await archivedIds()).toEqual([])
    await harness.events.storeEvents(batch)
    await expireLeases()
    await archiveAll()
    await expectArchived(batch)
  })

  const storedIn = async (id: string): Promise<number> =>
    (await Array.fromAsync(harness.events.readEvents({ projectId: id, portion: () => 100 }))).flatMap(
      (portion) => portion.events,
    ).length

  it('keeps the retention from removing events until their manifest is written, also late ones', async () => {
    const batch = events(10)
    await write(batch)
    const archivedUntil = createArchivedUntil(db.pool)
    expect(await archivedUntil(projectId)).toBe(HOUR)
    const removeOld = async () => {
      await db.pool.query('TRUNCATE ingest.retention_runs')
      await createRetention({ db, eventStore: harness.events, archivedUntil, now: Date.now })(never)
      return storedIn(projectId)
    }
    // One of them is already archived, and stays with those that were received before it.
    await db.pool.query('DELETE FROM ingest.archive_queue WHERE received_at = $1', [batch[3]?.receivedAt])
    expect(await removeOld()).toBe(10)
    await archiveAll()
    expect(await archivedUntil(projectId)).toBeUndefined()
    expect(await removeOld()).toBe(0)
    await expectArchived(batch.toSpliced(3, 1))
  })

  it('keeps no event for ever where there is no archive, and the project wants none any more', async () => {
    const [off, on] = [projectId, await addProject()]
    await write([...events(6), ...events(1, HOUR, on)])
    const left = async () => {
      await db.pool.query('TRUNCATE ingest.retention_runs')
      const archivedUntil = createArchivedUntil(db.pool)
      await createRetention({ db, eventStore: harness.events, archivedUntil, now: Date.now })(never)
      return [await storedIn(off), await storedIn(on)]
    }
    expect(await forgetQueued(db.pool)).toBe(0)
    expect(await left()).toEqual([6, 1])
    await db.pool.query(`UPDATE core.projects SET settings = settings - 'archiveEvents' WHERE id = $1`, [off])
    // One of them is in a file that is being written.
    const oldest = [new Date(HOUR), off]
    await db.pool.query(
      'UPDATE ingest.archive_queue SET file_id = gen_random_uuid() WHERE received_at = $1 AND project_id = $2',
      oldest,
    )
    expect(await forgetQueued(db.pool)).toBe(5)
    expect(await forgetQueued(db.pool)).toBe(0)
    expect(await left()).toEqual([6, 1])
    await db.pool.query('DELETE FROM ingest.archive_queue WHERE received_at = $1 AND project_id = $2', oldest)
    expect(await left()).toEqual([0, 1])
  })

  it('keeps no event for ever in a file that failed before there was no archive any more', async () => {
    await write(events(6))
    await expect(archiveAll({ store: failingStore(store, 1, 'before') })).rejects.toThrow('unavailable')
    await expireLeases()
    expect(await forgetQueued(db.pool)).toBe(0)
    await db.pool.query(`UPDATE core.projects SET settings = settings - 'archiveEvents' WHERE id = $1`, [
      projectId,
    ])
    await db.pool.query(`UPDATE ingest.archive_files SET lease_until = now() + interval '1 minute'`)
    expect(await forgetQueued(db.pool)).toBe(0)
    expect(await readArchiveDelay(db.pool)).toBeGreaterThan(0)
    await expireLeases()
    expect(await forgetQueued(db.pool)).toBe(6)
    expect(await isQueueEmpty()).toBe(true)
    expect(await readArchiveDelay(db.pool)).toBe(0)
    // An archive that is there again has nothing of it.
    expect(await archiveAll()).toBe(1)
    expect(await archive.names()).toEqual([])
    expect((await db.pool.query('SELECT FROM ingest.archive_files')).rowCount).toBe(0)
  })

  it('counts each hour between the first and the last file once, also those without files', async () => {
    const other = await addProject()
    const at = (hours: number) => HOUR + hours * HOUR_MS
    const first = events(3, at(0))
    for (const batch of [first, events(3, at(1)), events(3, at(4))]) await write(batch)
    await write(events(1, at(1), other))
    await archiveAll({ maxEvents: 2, now: () => at(9) })
    await harness.erase(first.slice(0, 1))
    // Stored while the archive was off: before the first file, between two files, and after the last.
    for (const start of [at(0) - 1, at(3), at(4) - 1, at(5)]) await write(events(1, start))
    await db.pool.query('DELETE FROM ingest.archive_queue')
    const counts = (await Array.fromAsync(countHours(db.pool, harness.events))).map((count) => ({
      ...count,
      hour: (count.hour.getTime() - HOUR) / HOUR_MS,
    }))
    expect(counts.filter((count) => count.projectId === projectId)).toEqual([
      { projectId, hour: 0, archived: 3, stored: 2 },
      { projectId, hour: 1, archived: 3, stored: 3 },
      { projectId, hour: 3, archived: 0, stored: 2 },
      { projectId, hour: 4, archived: 3, stored: 3 },
    ])
    expect(counts.filter((count) => count.projectId !== projectId)).toEqual([
      { projectId: other, hour: 1, archived: 1, stored: 1 },
    ])
  })

  it('is compared as a stream, for files of any size', async () => {
    await write(events(1))
    await archiveAll({ format: 'jsonl.gz' })
    const [{ file }] = await archive.manifests()
    // The pieces share one buffer, so that a reader which keeps pieces has other bytes in the end.
    const shared = Buffer.alloc(1)
    let reads = 0
    async function* byteByByte(content: AsyncIterable<Uint8Array>) {
      for await (const piece of content)
        for (const byte of piece) {
          shared[0] = byte
          yield shared
        }
    }
    const read = async (name: string) => {
      const content = await store.read(name)
      // The first reader computes the hash. The second one decompresses, which keeps some pieces.
      return name === file && content && reads++ === 0 ? byteByByte(content) : content
    }
    expect((await verifyArchive(db.pool, { ...store, read }, harness.events)).problems).toEqual([])
    expect(reads).toBe(2)
  })

  it.each<ArchiveFormat>(['parquet', 'jsonl.gz'])(
    'has no %s files that no manifest names',
    async (format) => {
      await write(events(10))
      await archiveAll({ format })
      const [{ file }] = await archive.manifests()
      const [manifest = ''] = (await archive.names()).filter((name) => name.endsWith('.manifest.json'))
      const hour = path.dirname(file)
      const named = (changes: { id?: string; attempt?: number; at?: string }): string => {
        const [, project, id, attempt] = /([^/_]+)_([^/_]+)_(\d+)/.exec(file) ?? []
        const { at = hour } = changes
        return `${at}/${project}_${changes.id ?? id}_${changes.attempt ?? attempt}.${format}`
      }
      const data = [
        // Of an earlier or a later attempt, of no file, in another hour, and with other names.
        named({ attempt: 2 }),
        named({ id: randomUUID() }),
        named({ at: 'events/date=2026-02-01/hour=11' }),
        `${hour}/more.${format}`,
        `events/copy.${format}`,
      ]
      const manifests = [`${hour}/${randomUUID()}_${randomUUID()}.manifest.json`]
      const others = [`${hour}/.DS_Store`, `${hour}/${randomUUID()}.${format}.new`, 'events/README.md']
      for (const name of [...data, ...manifests, ...others])
        await store.put(name, Readable.from([Buffer.from('x')]), never)
      // Outside of the archive.
      await store.put(`elsewhere/a.${format}`, Readable.from([Buffer.from('x')]), never)

      const found = await verifyArchive(db.pool, store, harness.events)
      expect(found.problems.toSorted((a, b) => (a.file < b.file ? -1 : 1))).toEqual(
        [
          ...data.map((name) => ({ file: name, problem: 'is named by no manifest' })),
          ...manifests.map((name) => ({ file: name, problem: 'is the manifest of no file' })),
        ].toSorted((a, b) => (a.file < b.file ? -1 : 1)),
      )
      expect(found.others.toSorted()).toEqual(others.toSorted())
      for (const { file: name } of found.problems) await store.remove(name)
      expect(await verifyArchive(db.pool, store, harness.events)).toMatchObject({ files: 1, problems: [] })
      expect(await archive.names()).toEqual(expect.arrayContaining([file, manifest]))
    },
  )

  it('may have files without a manifest that are being written, rewritten or removed', async () => {
    const listed: string[] = []
    const check = async () => {
      listed.push(...(await Array.fromAsync(store.list('events'))))
      expect((await verifyArchive(db.pool, store, harness.events)).problems).toEqual([])
    }
    const checking: FileStore = {
      ...store,
      put: async (name, content, signal) => {
        await store.put(name, content, signal)
        await check()
      },
    }
    await write(events(10))
    // A process wrote a file and stopped, and another one writes it again.
    await expect(archiveAll({ store: failingStore(store, 1, 'after') })).rejects.toThrow('crashes')
    await check()
    await expireLeases()
    await archiveAll({ store: checking })
    expect(listed.filter((name) => name.endsWith('.parquet'))).toHaveLength(1 + 2 + 2)
    // A rewrite has written the next attempt.
    const [file] = await Array.fromAsync(listFinishedFiles(db.pool))
    const claimed = file && (await claimRewrite(db.pool, file, 60))
    await store.put(claimed ? fileName(claimed) : '', Readable.from([Buffer.from('x')]), never)
    await check()
    // The file that counted when it was listed was replaced and removed since.
    const replaced: FileStore = {
      ...store,
      list: async function* (folder) {
        yield* store.list(folder)
        if (claimed && folder === 'events') yield fileName(claimed, 1)
      },
    }
    expect((await verifyArchive(db.pool, replaced, harness.events)).problems).toEqual([])
  })

  it('is compared with the database', async () => {
    await write(events(10))
    await archiveAll()
    const [files, problems, others, hours] = [1, [], [], []]
    expect(await verifyArchive(db.pool, store, harness.events)).toEqual({
      files,
      events: 10,
      problems,
      others,
      hours,
    })
    // An event that was stored while the archive was off.
    const [missed] = events(1, HOUR + 1_000)
    await write(missed ? [missed] : [])
    await db.pool.query('DELETE FROM ingest.archive_queue')
    const [{ file }] = await archive.manifests()
    const content = await readFile(path.join(folder, file))
    content[100] = (content[100] ?? 0) ^ 1
    await writeFile(path.join(folder, file), content)
    expect(await verifyArchive(db.pool, store, harness.events)).toMatchObject({
      problems: [{ file, problem: 'has another SHA-256 than its manifest' }],
      hours: [{ projectId, archived: 10, stored: 11 }],
    })
    await rm(path.join(folder, file))
    expect((await verifyArchive(db.pool, store, harness.events)).problems).toEqual([
      { file, problem: 'is missing' },
    ])
  })
})
