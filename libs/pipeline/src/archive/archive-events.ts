import type { EventView } from '@waymark/contracts/http/events'
import type { Log } from '@waymark/contracts/log'
import type { Database } from '@waymark/database'
import {
  EVENT_COLUMNS,
  type EventColumns,
  type FileStore,
  gzip,
  writeJsonLines,
  writeParquet,
} from '@waymark/event-files'
import { type EventQueries, readEventsAt, viewOf } from '@waymark/event-store'
import { newRange, noteEvent, putFile, putManifest, removeAttempts } from './archive-file.ts'
import {
  beginFile,
  type ClaimedFile,
  dropEmptyFile,
  finishFile,
  HOUR_MS,
  type NewFile,
  postponeFile,
  readFilePlaces,
  releaseFile,
  resumeFile,
  setWritten,
  type WrittenFile,
} from './archive-queries.ts'

export const archiveFormats = ['parquet', 'jsonl.gz'] as const
export type ArchiveFormat = (typeof archiveFormats)[number]

/** How long a process may take for a file. */
const LEASE_SECONDS = 15 * 60
/** Time after an hour in which most of its events arrive in the database. Later ones get a file of their own. */
const GRACE_MS = 5 * 60 * 1000
const MAX_EVENTS = 100_000
const EVENTS_PER_READ = 200

type ArchivedEvent = EventView & { projectId: string }
const COLUMNS: EventColumns<ArchivedEvent> = { projectId: 'text', ...EVENT_COLUMNS }

export type ArchiverDeps = {
  db: Database
  /** Has the events. */
  events: Pick<EventQueries, 'readEvents'>
  store: FileStore
  format: ArchiveFormat
  log: Pick<Log, 'warn'>
  /** The current time in ms. */
  now: () => number
  /** Is called with the number of events of a file that is finished. */
  onFile?: (events: number) => void
  maxEvents?: number
  leaseSeconds?: number
}

/**
 * Writes one file of the archive: queued events of one project and one hour that is over.
 *
 * 1. The events are claimed for a file, and stay so: each event belongs to one file.
 * 2. The file is written under a name of its own for each attempt.
 * 3. The database records which attempt counts. A process whose lease ended cannot record its own.
 * 4. The manifest of the file is written from that record, so that every process writes the same. Other attempts are removed.
 * 5. The events leave the queue.
 *
 * If a process stops in between, another one continues with the missing step. A file that fails is postponed, and
 * those of other projects go first.
 * @returns the number of files that were worked on
 */
export const createArchiver = ({
  db,
  events,
  store,
  format,
  log,
  now,
  onFile,
  maxEvents = MAX_EVENTS,
  leaseSeconds = LEASE_SECONDS,
}: ArchiverDeps) => {
  const write = async (file: ClaimedFile, signal: AbortSignal): Promise<NewFile | undefined> => {
    const range = newRange()
    const { projectId } = file
    async function* portions(): AsyncGenerator<ArchivedEvent[]> {
      for await (const places of readFilePlaces(db.pool, file, EVENTS_PER_READ)) {
        const found = await readEventsAt(events, projectId, places)
        // Erased ones are not queued, so the consumer has yet to write those that are missing.
        if (found.length < places.length)
          throw new Error(`${places.length - found.length} queued events are not in the event store yet`)
        for (const { receivedAt, profileId } of found) noteEvent(range, new Date(receivedAt), profileId)
        yield found.map((event) => ({ projectId, ...viewOf(event) }))
      }
    }
    const pieces =
      file.format === 'parquet' ? writeParquet(COLUMNS, portions()) : gzip(writeJsonLines(portions()))
    return putFile(store, file, pieces, range, signal)
  }

  /** The file in the store; undefined when it has no events, or another process has it. */
  const ensureWritten = async (file: ClaimedFile, signal: AbortSignal): Promise<WrittenFile | undefined> => {
    if (file.written) return file.written
    const written = await write(file, signal)
    if (written === undefined) {
      // An earlier attempt may have left events that were erased since. A later one of another process keeps its file.
      await removeAttempts(store, file)
      await dropEmptyFile(db, file)
      return undefined
    }
    if (await setWritten(db.pool, file, written)) return written
    await store.remove(written.name)
    return undefined
  }

  const finish = async (file: ClaimedFile, written: WrittenFile, signal: AbortSignal): Promise<void> => {
    await putManifest(store, file, written, signal)
    await finishFile(db, file)
    onFile?.(written.events)
  }

  return async (stopping: AbortSignal): Promise<number> => {
    const before = new Date(Math.floor((now() - GRACE_MS) / HOUR_MS) * HOUR_MS)
    const file =
      (await resumeFile(db.pool, leaseSeconds, { failed: false })) ??
      (await beginFile(db, { format, before, maxEvents, leaseSeconds })) ??
      (await resumeFile(db.pool, leaseSeconds, { failed: true }))
    if (!file) return 0
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(leaseSeconds * 1000)])
    try {
      const written = await ensureWritten(file, signal)
      if (written) await finish(file, written, signal)
      return 1
    } catch (error) {
      const leave = stopping.aborted ? releaseFile : postponeFile
      await leave(db.pool, file).catch((err) =>
        log.warn({ err, file: file.id }, 'Cannot release a file of the archive'),
      )
      throw error
    }
  }
}
