import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { EventView, Log } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import {
  EVENT_COLUMNS,
  type EventColumns,
  type FileStore,
  writeJsonLines,
  writeParquet,
} from '@waymark/event-files'
import { eventView } from '../stored-events/index.ts'
import {
  beginFile,
  type ClaimedFile,
  dropEmptyFile,
  finishFile,
  postponeFile,
  readFileEvents,
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
const HOUR_MS = 60 * 60 * 1000
const MAX_EVENTS = 100_000
const EVENTS_PER_READ = 200

type ArchivedEvent = EventView & { projectId: string }
const COLUMNS: EventColumns<ArchivedEvent> = { projectId: 'text', ...EVENT_COLUMNS }

export type ArchiverDeps = {
  db: Database
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
 * 4. The manifest of the file is written from that record, so that every process writes the same.
 * 5. The events leave the queue.
 *
 * Whoever stops in between, another process continues with the step that is missing. A file that fails is postponed, and
 * those of other projects go first.
 * @returns the number of files that were worked on
 */
export const createArchiver = ({
  db,
  store,
  format,
  log,
  now,
  onFile,
  maxEvents = MAX_EVENTS,
  leaseSeconds = LEASE_SECONDS,
}: ArchiverDeps) => {
  const write = async (file: ClaimedFile, signal: AbortSignal): Promise<WrittenFile | undefined> => {
    const name = fileName(file, file.attempt)
    const measured = { events: 0, bytes: 0, first: undefined as Date | undefined, last: new Date(0) }
    const hash = createHash('sha256')
    async function* events(): AsyncGenerator<ArchivedEvent[]> {
      for await (const rows of readFileEvents(db.pool, file, EVENTS_PER_READ)) {
        measured.events += rows.length
        measured.first ??= rows[0]?.received_at
        measured.last = rows.at(-1)?.received_at ?? measured.last
        yield rows.map((row) => ({ projectId: file.projectId, ...eventView(row) }))
      }
    }
    async function* content(): AsyncGenerator<Uint8Array> {
      const pieces =
        file.format === 'parquet'
          ? writeParquet(COLUMNS, events())
          : Readable.from(writeJsonLines(events())).compose(createGzip())
      for await (const piece of pieces as AsyncIterable<Uint8Array>) {
        hash.update(piece)
        measured.bytes += piece.byteLength
        yield piece
      }
    }
    await store.put(name, content(), signal)
    const { events: count, bytes, first, last } = measured
    if (first === undefined) {
      await store.remove(name)
      return undefined
    }
    const sha256 = hash.digest('hex')
    return { name, events: count, bytes, sha256, firstReceivedAt: first, lastReceivedAt: last }
  }

  /** The file in the store; undefined when it has no events, or another process has it. */
  const ensureWritten = async (file: ClaimedFile, signal: AbortSignal): Promise<WrittenFile | undefined> => {
    if (file.written) return file.written
    const written = await write(file, signal)
    if (written === undefined) {
      await dropEmptyFile(db, file)
      return undefined
    }
    if (await setWritten(db.pool, file, written)) return written
    await store.remove(written.name)
    return undefined
  }

  const finish = async (file: ClaimedFile, written: WrittenFile, signal: AbortSignal): Promise<void> => {
    await store.put(manifestName(file), Readable.from([manifestOf(file, written)]), signal)
    await finishFile(db, file)
    // What stopped processes left. Without a manifest it does not count, but a reader by a pattern would find it.
    for (let attempt = 1; attempt <= file.attempt; attempt++) {
      const name = fileName(file, attempt)
      if (name !== written.name) await store.remove(name)
    }
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

const folderOf = ({ hour }: ClaimedFile): string => {
  const time = hour.toISOString()
  return `events/date=${time.slice(0, 10)}/hour=${time.slice(11, 13)}`
}
const fileName = (file: ClaimedFile, attempt: number): string =>
  `${folderOf(file)}/${file.projectId}_${file.id}_${attempt}.${file.format}`

/** The name of the manifest of a file. */
export const manifestName = (file: ClaimedFile): string =>
  `${folderOf(file)}/${file.projectId}_${file.id}.manifest.json`

/** The content of the manifest of a file. */
export const manifestOf = (file: ClaimedFile, written: WrittenFile): Buffer =>
  Buffer.from(
    `${JSON.stringify({
      version: 1,
      projectId: file.projectId,
      hour: file.hour.toISOString(),
      format: file.format,
      file: written.name,
      events: written.events,
      bytes: written.bytes,
      sha256: written.sha256,
      firstReceivedAt: written.firstReceivedAt.toISOString(),
      lastReceivedAt: written.lastReceivedAt.toISOString(),
    })}\n`,
  )
