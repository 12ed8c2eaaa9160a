import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { createDirectoryStore, type FileStore, openS3Store } from '@waymark/event-files'
import {
  anEnrichedEvent,
  COMPILED,
  eventually,
  extent,
  hasS3Server,
  services,
  startProcess,
  startS3Server,
  untilDisconnected,
} from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  type ArchiveEraserDeps,
  type ArchiverDeps,
  archiveFormats,
  createArchiveEraser,
  createArchiver,
  readArchiveDelay,
  readWaitingErasures,
  verifyArchive,
} from '../src/archive/index.ts'
import { resolveProfiles } from '../src/identity/index.ts'
import { createPurger, type Erasure, eraseProfile } from '../src/personal-data/index.ts'
import { type ArchiveHarness, failingStore, idsOf, openArchiveHarness, repeat } from './archive-harness.ts'

const HOUR_MS = 3_600_000
const HOUR = Date.parse('2026-02-01T10:00:00Z')
const NOW = HOUR + 9 * HOUR_MS
const KILLS = extent(2, 6)
const KILLED_FORMATS = archiveFormats.slice(0, extent(1, 2))
/** A failure after a step is much like one before the next. */
const EACH_STEP = extent(2, 1)
const BUCKET_IN_FULL = extent(false, true)
const never = new AbortController().signal

/** A store of files that lie in a folder as well. */
const stores = {
  'a directory': async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'archive-'))
    return { folder, store: createDirectoryStore(folder), stop: () => rm(folder, { recursive: true }) }
  },
  'a bucket': async () => {
    const server = await startS3Server()
    return { folder: server.folder, store: await openS3Store({ ...server, prefix: '' }), stop: server.stop }
  },
}
const present = Object.keys(stores).filter(
  (name) => name !== 'a bucket' || hasS3Server,
) as (keyof typeof stores)[]

describe.skipIf(!services).each(present)('erasing people from an archive in %s', (kind) => {
  let harness: ArchiveHarness
  let db: ArchiveHarness['db']
  let archive: ReturnType<ArchiveHarness['archiveIn']>
  let place: Awaited<ReturnType<(typeof stores)[typeof kind]>>
  let store: FileStore
  let projectId: string

  beforeAll(async () => {
    harness = await openArchiveHarness()
    db = harness.db
    place = await stores[kind]()
    store = place.store
    // A bucket's server keeps other files beside those of events.
    archive = harness.archiveIn(place.folder, (name) => name.includes('/hour='))
  })
  afterAll(async () => {
    await place?.stop()
    await harness?.close()
  })
  beforeEach(async () => {
    await rm(path.join(place.folder, 'events'), { recursive: true, force: true })
    await harness.clear()
    projectId = await harness.addProject()
  })

  /** The profile of a new visitor. */
  const addPerson = async (project = projectId): Promise<string> => {
    const [id] = await resolveProfiles(db.pool, [
      { projectId: project, visitorId: randomUUID(), userId: null },
    ])
    return id ?? ''
  }
  const eventsOf = (
    profileId: string,
    count: number,
    { from = HOUR, project = projectId }: { from?: number; project?: string } = {},
  ): EnrichedEvent[] =>
    Array.from({ length: count }, (_, n) => {
      const receivedAt = new Date(from + n).toISOString()
      const properties = { n, text: `'"ä\n\u2028${n}`, deep: [{ a: null }, 1.5e300] }
      const event = { eventId: randomUUID(), properties }
      return {
        ...anEnrichedEvent({ projectId: project, receivedAt, event }),
        timestamp: receivedAt,
        profileId,
      }
    })
  const log = { warn: () => {} }
  const archiver = (deps: Partial<ArchiverDeps> = {}) =>
    createArchiver({
      db,
      store,
      events: harness.events,
      format: 'parquet' as const,
      log,
      now: () => NOW,
      ...deps,
    })
  const eraser = (deps: Partial<ArchiveEraserDeps> = {}) => createArchiveEraser({ db, store, log, ...deps })
  const archiveAll = (deps: Partial<ArchiverDeps> = {}) => repeat(archiver(deps))
  const eraseAll = (deps: Partial<ArchiveEraserDeps> = {}) => repeat(eraser(deps))
  const begin = async (profileId: string, project = projectId): Promise<Erasure> => {
    const erasure = await eraseProfile({ db, now: () => NOW }, { projectId: project, profileId })
    if (!erasure) throw new Error('The profile does not exist')
    return erasure
  }
  const purge = (erasure: Erasure) =>
    createPurger({
      db,
      cache: { delete: async () => {} } as never,
      eventStore: harness.events,
    }).purge(erasure, never)
  const erase = async (profileId: string, project = projectId): Promise<void> => {
    expect(await purge(await begin(profileId, project))).toBe(true)
  }
  /** Lets leases and pauses end. */
  const letPass = async () => {
    await db.pool.query(`UPDATE ingest.archive_files SET lease_until = now() - interval '1 second'`)
    await db.pool.query(`UPDATE ingest.archive_erasures SET due_at = now() - interval '1 second'`)
  }

  const archivedIds = async () => (await archive.rows()).map(({ eventId }) => eventId)
  /** Everything that must hold once nothing is left to do. */
  const expectArchived = async (expected: readonly EnrichedEvent[]) => {
    expect(await archivedIds()).toEqual(idsOf(expected))
    expect(await verifyArchive(db.pool, store, harness.events)).toMatchObject({ problems: [], hours: [] })
    const files = (await archive.names()).filter((name) => !name.endsWith('.manifest.json'))
    expect(files).toEqual((await archive.manifests()).map(({ file }) => file).toSorted())
    expect(await readWaitingErasures(db.pool)).toEqual({ count: 0, seconds: 0 })
    expect((await db.pool.query('SELECT FROM ingest.archive_files WHERE manifest_pending')).rowCount).toBe(0)
  }

  it.each(['parquet', 'jsonl.gz'] as const)(
    'takes their events out, and leaves the others as they are: %s',
    async (format) => {
      const other = await harness.addProject()
      const [ann, ben, eve] = [await addPerson(), await addPerson(), await addPerson(other)]
      const kept = [...eventsOf(ben, 300), ...eventsOf(eve, 3, { project: other })]
      // One hour with two people, one with only the erased one, and one with only the other.
      await harness.write([...eventsOf(ann, 250), ...kept, ...eventsOf(ann, 10, { from: HOUR + HOUR_MS })])
      const untouched = eventsOf(ben, 10, { from: HOUR + 2 * HOUR_MS })
      await harness.write(untouched)
      expect(await archiveAll({ format, maxEvents: 200 })).toBe(6)
      const before = await archive.rows()
      const erasure = await begin(ann)
      expect(erasure.inArchive).toBe(true)
      // The events of the person are read for new files until they are purged.
      expect(await eraseAll()).toBe(0)
      expect(await readWaitingErasures(db.pool)).toMatchObject({ count: 1 })
      await purge(erasure)
      const taken: number[] = []
      await eraseAll({ onFile: (events) => taken.push(events) })
      expect(taken.toSorted((a, b) => a - b).reduce((sum, count) => sum + count, 0)).toBe(260)
      const { rows: records } = await db.pool.query(
        `SELECT removed, removed_at <= archive_removed_at AS in_order, archive_files FROM ingest.erasure_records
         WHERE id = $1`,
        [erasure.id],
      )
      const removed = { profiles: 1, identities: 1, events: 260 }
      expect(records).toEqual([{ removed, in_order: true, archive_files: taken.length }])
      expect(await archive.rows()).toEqual(before.filter(({ profileId }) => profileId !== ann))
      await expectArchived([...kept, ...untouched])
      expect(await readArchiveDelay(db.pool)).toBe(0)
      // Nothing changes when it is done again.
      const names = await archive.names()
      const files = () => db.pool.query('SELECT * FROM ingest.archive_files ORDER BY id')
      const { rows } = await files()
      await db.pool.query(
        `INSERT INTO ingest.archive_erasures (id, project_id, profile_ids, erased_at, due_at) VALUES ($1, $2, $3, $4, now() - interval '1 second')`,
        [randomUUID(), projectId, [ann], new Date(NOW)],
      )
      await eraseAll()
      expect(await archive.names()).toEqual(names)
      expect((await files()).rows).toEqual(rows)
      expect(rows.filter(({ attempt }) => attempt === 1)).toHaveLength(2)
    },
  )

  it.each(['parquet', 'jsonl.gz'] as const)(
    'reads only files that may have the people: %s',
    async (format) => {
      const [ann, ben] = [await addPerson(), await addPerson()]
      const hours = [0, 1, 2, 3].map((n) => HOUR + n * HOUR_MS)
      const kept = hours.flatMap((from) => eventsOf(ben, 20, { from }))
      await harness.write([...kept, ...eventsOf(ann, 5, { from: HOUR + HOUR_MS })])
      await archiveAll({ format })
      const filesOf = async () => {
        const { rows } = await db.pool.query<{ hour: Date; people: number[] | null }>(
          'SELECT hour, people FROM ingest.archive_files ORDER BY hour',
        )
        return rows
      }
      const key = (id: string) => Buffer.from(id.slice(-8), 'hex').readInt32BE()
      expect((await filesOf()).map(({ people }) => people?.toSorted())).toEqual(
        hours.map((_, n) => (n === 1 ? [key(ann), key(ben)] : [key(ben)]).toSorted()),
      )
      // The file of an earlier version, and one with another person of the same key.
      await db.pool.query('UPDATE ingest.archive_files SET people = NULL WHERE hour = $1', [new Date(HOUR)])
      await db.pool.query('UPDATE ingest.archive_files SET people = people || $2 WHERE hour = $1', [
        new Date(HOUR + 2 * HOUR_MS),
        [key(ann)],
      ])
      await erase(ann)
      const read = new Set<string>()
      await eraseAll({
        store: {
          ...store,
          read: (name) => store.read(`${read.add(name) && name}`),
          readRange: (name, start, end) => store.readRange(`${read.add(name) && name}`, start, end),
        },
      })
      expect([...read].map((name) => /hour=(\d+)/.exec(name)?.[1]).toSorted()).toEqual(['10', '11', '12'])
      await expectArchived(kept)
      expect((await filesOf())[1]?.people).toEqual([key(ben)])
    },
  )

  // The steps are those of the eraser, whatever the store is.
  it.runIf(kind === 'a directory' || BUCKET_IN_FULL).each(['before', 'after'] as const)(
    'has each event once when any step fails %s its effect',
    async (when) => {
      for (let [step, failed] = [1, true]; failed; step += EACH_STEP) {
        await rm(path.join(place.folder, 'events'), { recursive: true, force: true })
        await harness.clear()
        const [ann, ben] = [await addPerson(), await addPerson()]
        const kept = eventsOf(ben, 20)
        await harness.write([...eventsOf(ann, 20), ...kept, ...eventsOf(ann, 5, { from: HOUR + HOUR_MS })])
        await archiveAll()
        await erase(ann)
        failed = await eraseAll({ store: failingStore(store, step, when) }).then(
          () => false,
          () => true,
        )
        const ids = await archivedIds()
        expect(ids.filter((id) => idsOf(kept).includes(`${id}`))).toEqual(idsOf(kept))
        expect(new Set(ids).size).toBe(ids.length)
        // A check meanwhile reports only what is about to be removed.
        expect((await verifyArchive(db.pool, store, harness.events)).problems).toEqual([])
        expect(await readArchiveDelay(db.pool)).toBe(0)
        await letPass()
        await eraseAll()
        await expectArchived(kept)
        if (!failed) expect(step).toBeGreaterThan(7)
      }
    },
  )

  it.each(['before', 'after'])(
    'has each event once when a process is overtaken %s it writes',
    async (when) => {
      const people = await Promise.all([1, 2, 3, 4].map(() => addPerson()))
      const batches = people.map((person) => eventsOf(person, 40))
      await harness.write(batches.flat())
      await archiveAll({ maxEvents: 50 })
      for (const person of people.slice(0, 2)) await erase(person)
      const [reached, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const slow: FileStore = {
        ...store,
        put: async (name, content, signal) => {
          if (when === 'after') await store.put(name, content, signal)
          reached.resolve()
          await go.promise
          if (when === 'before') await store.put(name, content, signal)
        },
      }
      const overtaken = eraser({ store: slow })(never)
      await reached.promise
      await letPass()
      await erase(people[2] ?? '')
      await Promise.all([1, 2, 3].map(() => eraseAll()))
      go.resolve()
      // What it reads may be gone.
      await overtaken.catch((error) => expect(`${error}`).toMatch(/is missing/))
      await letPass()
      await eraseAll()
      await expectArchived(batches[3] ?? [])
    },
  )

  it.runIf(kind === 'a directory').each(KILLED_FORMATS)(
    'has each event once whenever its processes are killed: %s',
    async (format) => {
      const [ann, ben] = [await addPerson(), await addPerson()]
      const hours = Array.from({ length: 6 }, (_, n) => HOUR + n * HOUR_MS)
      const kept = hours.flatMap((from) => eventsOf(ben, 60, { from }))
      await harness.write([...kept, ...hours.flatMap((from) => eventsOf(ann, 60, { from }))])
      const env = {
        PATH: process.env.PATH,
        ...COMPILED,
        DATABASE_URL: harness.databaseUrl,
        FOLDER: place.folder,
        EVENTS: path.join(place.folder, 'written.json'),
      }
      await writeFile(env.EVENTS, JSON.stringify(harness.written))
      const start = () =>
        startProcess(process.execPath, [path.join(import.meta.dirname, 'archiving-process.ts')], {
          env: { ...env, NOW: `${NOW}`, FORMAT: format },
        })
      /** How often files were written or rewritten, which never decreases. */
      const written = async () => {
        const { rows } = await db.pool.query<{ attempts: number }>(
          `SELECT coalesce(sum(attempt), 0)::int AS attempts FROM ingest.archive_files`,
        )
        return rows[0]?.attempts ?? 0
      }
      for (let kill = 1; kill <= KILLS; kill++) {
        const [before, processes] = [await written(), [start(), start()]]
        await eventually('files are written', async () => (await written()) >= before + 3)
        await Promise.all(processes.map((one) => one.kill()))
        await untilDisconnected(db.pool, 'archiver')
        // The files that count have no event twice.
        const ids = await archivedIds()
        expect(new Set(ids).size).toBe(ids.length)
        await letPass()
        if (kill === KILLS / 2) await erase(ann)
      }
      await archiveAll()
      await repeat(async (signal) => {
        await letPass()
        return eraser()(signal)
      })
      await expectArchived(kept)
      const all = await readdir(place.folder, { recursive: true })
      expect(all.filter((name) => name.endsWith('.new'))).toEqual([])
    },
  )

  it.runIf(kind === 'a directory')(
    'removes what a killed process left of a file whose events are all erased',
    async () => {
      const ann = await addPerson()
      await harness.write(eventsOf(ann, 5))
      const killed: FileStore = {
        ...store,
        put: async (name) => {
          const file = path.join(place.folder, ...name.split('/'))
          await mkdir(path.dirname(file), { recursive: true })
          await writeFile(`${file}.new`, 'the first events')
          throw new Error('the process is killed')
        },
      }
      await expect(archiver({ store: killed })(never)).rejects.toThrow('the process is killed')
      expect(await archive.names()).toHaveLength(1)
      await letPass()
      await erase(ann)
      await archiveAll()
      await eraseAll()
      expect(await archive.names()).toEqual([])
    },
  )

  it('waits for a file that was begun before the events were purged', async () => {
    const [ann, ben] = [await addPerson(), await addPerson()]
    const kept = eventsOf(ben, 5)
    await harness.write([...eventsOf(ann, 5), ...kept])
    const [written, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow: FileStore = {
      ...store,
      put: async (name, content, signal) => {
        await store.put(name, content, signal)
        written.resolve()
        await go.promise
      },
    }
    const archived = archiver({ store: slow })(never)
    await written.promise
    await erase(ann)
    await eraseAll()
    expect(await readWaitingErasures(db.pool)).toMatchObject({ count: 1 })
    go.resolve()
    await archived
    expect(await archivedIds()).toHaveLength(10)
    await db.pool.query(`UPDATE ingest.archive_erasures SET due_at = now() - interval '1 second'`)
    await eraseAll()
    await expectArchived(kept)
  })

  it('takes out people who are erased before a rewrite for others is completed', async () => {
    const [ann, ben, eve] = [await addPerson(), await addPerson(), await addPerson()]
    const kept = eventsOf(eve, 5)
    await harness.write([...eventsOf(ann, 5), ...eventsOf(ben, 5), ...kept])
    await archiveAll()
    await erase(ann)
    const withoutManifests: FileStore = {
      ...store,
      put: async (name, content, signal) => {
        if (name.endsWith('.manifest.json')) throw new Error('the store is unavailable')
        await store.put(name, content, signal)
      },
    }
    await expect(eraser({ store: withoutManifests })(never)).rejects.toThrow('the store is unavailable')
    await erase(ben)
    await letPass()
    await eraseAll()
    await expectArchived(kept)
  })

  it('continues with other projects when a file cannot be read, and past one that was removed', async () => {
    const other = await harness.addProject()
    const [ann, eve] = [await addPerson(), await addPerson(other)]
    await harness.write([...eventsOf(ann, 3), ...eventsOf(eve, 3, { project: other })])
    await archiveAll()
    await erase(ann)
    await erase(eve, other)
    const broken = (await archive.manifests()).find((one) => one.projectId === projectId)
    await writeFile(path.join(place.folder, broken.file), 'damaged')
    await expect(eraser()(never)).rejects.toThrow(`${broken.file} is missing or too short`)
    expect(await eraseAll()).toBe(1)
    expect((await archive.manifests()).map((one) => one.projectId)).toEqual([projectId])
    await rm(path.join(place.folder, broken.file))
    await letPass()
    await eraseAll()
    expect(await readWaitingErasures(db.pool)).toMatchObject({ count: 0 })
  })

  it.each(archiveFormats)('names a file whose content is damaged, in the format %s', async (format) => {
    const ann = await addPerson()
    await harness.write(eventsOf(ann, 3))
    await archiveAll({ format })
    await erase(ann)
    const [{ file, bytes }] = await archive.manifests()
    await writeFile(path.join(place.folder, file), Buffer.alloc(bytes, 'damaged'))
    await expect(eraser()(never)).rejects.toThrow(file)
  })

  it('has files of several projects in turn', async () => {
    const other = await harness.addProject()
    const [ann, eve] = [await addPerson(), await addPerson(other)]
    await harness.write([...eventsOf(ann, 5), ...eventsOf(eve, 5, { project: other })])
    await archiveAll({ maxEvents: 1 })
    await erase(ann)
    await erase(eve, other)
    const erased: string[] = []
    const noting: FileStore = {
      ...store,
      remove: async (name) => {
        if (name.endsWith('.manifest.json')) erased.push(name.includes(other) ? 'other' : 'first')
        await store.remove(name)
      },
    }
    await eraseAll({ store: noting, filesPerRun: 2 })
    expect(erased.slice(0, 4).toSorted()).toEqual(['first', 'first', 'other', 'other'])
    expect(erased).toHaveLength(10)
    expect(await archive.names()).toEqual([])
  })

  it('is not asked for projects that have nothing in it', async () => {
    const ann = await addPerson()
    expect(await begin(ann)).toMatchObject({ inArchive: false })
    expect(await readWaitingErasures(db.pool)).toEqual({ count: 0, seconds: 0 })
  })
})
