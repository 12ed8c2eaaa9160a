import type { Log } from '@waymark/contracts/log'
import type { Database } from '@waymark/database'
import {
  type FileStore,
  readGzippedLines,
  readParquetColumn,
  rewriteGzippedLines,
  rewriteParquet,
} from '@waymark/event-files'
import {
  type ArchiveErasures,
  claimRewrite,
  countRewritten,
  endErasures,
  type FileToCheck,
  findFileToCheck,
  finishRewrite,
  postponeErasures,
  releaseErasures,
  setChecked,
  setRewritten,
  takeArchiveErasures,
} from './archive-erasure-queries.ts'
import { newRange, noteEvent, putFile, putManifest, removeFile } from './archive-file.ts'
import { type ClaimedFile, type NewFile, releaseFile, type WrittenFile } from './archive-queries.ts'

/** How long a process may take for a file. */
const LEASE_SECONDS = 15 * 60
/** Files of one project after which those of another come. */
const FILES_PER_RUN = 100

export type ArchiveEraserDeps = {
  db: Database
  store: FileStore
  log: Pick<Log, 'warn'>
  /** Is called with the number of events that were taken out of a file. */
  onFile?: (events: number) => void
  filesPerRun?: number
  leaseSeconds?: number
}

/**
 * Takes the events of erased people out of the files of the archive, for erasures of one project: each file that was begun
 * before their events were purged is read if it may have one of them, and rewritten if it has one.
 *
 * 1. The file is claimed, and written under the name of the next attempt without the events.
 * 2. The database records which attempt counts.
 * 3. The manifest is overwritten from that record, and other attempts are removed. A file without events is removed.
 *
 * If a process stops in between, another one continues: the erasures stay until all files are checked.
 * @returns the number of projects that were worked on
 */
export const createArchiveEraser = ({
  db: { pool },
  store,
  log,
  onFile,
  filesPerRun = FILES_PER_RUN,
  leaseSeconds = LEASE_SECONDS,
}: ArchiveEraserDeps) => {
  /**
   * Rewrites a file, or completes an earlier rewrite of it, which may have been for other people. Resolves to which of
   * them; undefined when another process has the file.
   */
  const rewrite = async (
    checked: ClaimedFile,
    { profileIds }: ArchiveErasures,
    stopping: AbortSignal,
  ): Promise<'rewritten' | 'completed' | undefined> => {
    const file = await claimRewrite(pool, checked, leaseSeconds)
    if (!file?.written) return undefined
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(leaseSeconds * 1000)])
    try {
      let written: WrittenFile = file.written
      if (!file.manifestPending) {
        const rewritten = (await writeWithout(store, file, file.written, profileIds, signal)) ?? {
          ...file.written,
          events: 0,
          people: [],
        }
        if (!(await setRewritten(pool, file, rewritten))) {
          if (rewritten.events > 0) await store.remove(rewritten.name)
          return undefined
        }
        onFile?.(file.written.events - rewritten.events)
        written = rewritten
      }
      if (written.events === 0) await removeFile(store, file)
      else await putManifest(store, file, written, signal)
      await finishRewrite(pool, file, written)
      return file.manifestPending ? 'completed' : 'rewritten'
    } catch (error) {
      await releaseFile(pool, file).catch((err) =>
        log.warn({ err, file: file.id }, 'Cannot release a file of the archive'),
      )
      throw error
    }
  }

  /** Rewrites a file if it has these people. Resolves as `rewrite`, or to `unaffected`. */
  const check = async (
    { file, mayHavePeople }: FileToCheck,
    erasures: ArchiveErasures,
    stopping: AbortSignal,
  ): Promise<'unaffected' | 'rewritten' | 'completed' | undefined> => {
    const isAffected =
      file.manifestPending || (mayHavePeople && (await hasPeople(store, file, erasures.profileIds)))
    return isAffected ? rewrite(file, erasures, stopping) : 'unaffected'
  }

  /** Checks the next files. Ends when they are all checked, or one of them is the work of another process. */
  const checkFiles = async (given: ArchiveErasures, stopping: AbortSignal): Promise<void> => {
    let erasures = given
    for (let files = 0; files < filesPerRun && !stopping.aborted; files++) {
      const next = await findFileToCheck(pool, erasures)
      if (!next) return endErasures(pool, erasures)
      const { file, isFinished } = next
      if (!isFinished) return postponeErasures(pool, erasures)
      const done = await check(next, erasures, stopping).catch((error) => {
        throw aboutFile(file, error)
      })
      if (!done) return postponeErasures(pool, erasures)
      // It may still have these people.
      if (done === 'completed') continue
      if (done === 'rewritten') await countRewritten(pool, erasures)
      await setChecked(pool, erasures, file, leaseSeconds)
      erasures = { ...erasures, checkedUntil: file.id }
    }
    await releaseErasures(pool, erasures)
  }

  return async (stopping: AbortSignal): Promise<number> => {
    const erasures = await takeArchiveErasures(pool, leaseSeconds)
    if (!erasures) return 0
    try {
      await checkFiles(erasures, stopping)
      return 1
    } catch (error) {
      const leave = stopping.aborted ? releaseErasures : postponeErasures
      await leave(pool, erasures).catch((err) => log.warn({ err }, 'Cannot postpone erasures in the archive'))
      throw error
    }
  }
}

/** An error that names the file in which it occurred. */
const aboutFile = ({ written }: ClaimedFile, cause: unknown): unknown => {
  const name = written?.name ?? ''
  if (!(cause instanceof Error) || cause.message.includes(name)) return cause
  return new Error(`${name}: ${cause.message}`, { cause })
}

type JsonEvent = { profileId: string | null; receivedAt: string }
const parseLine = (line: Buffer): JsonEvent => JSON.parse(line.toString()) as JsonEvent

/** Whether a file has events of the people. A file that was removed from the store has none. */
const hasPeople = async (
  store: FileStore,
  { format, written }: ClaimedFile,
  profileIds: ReadonlySet<string>,
): Promise<boolean> => {
  if (!written || (await store.readRange(written.name, 0, 1)) === undefined) return false
  const isErased = (profileId: string | null) => profileId !== null && profileIds.has(profileId)
  if (format === 'parquet') {
    for await (const ids of readParquetColumn(store, written.name, written.bytes, 'profileId'))
      if (ids.some(isErased)) return true
    return false
  }
  const content = await store.read(written.name)
  if (!content) return false
  for await (const lines of readGzippedLines(content))
    if (lines.some((line) => isErased(parseLine(line).profileId))) return true
  return false
}

/** Writes a file again without the events of people; undefined when none is left. */
const writeWithout = async (
  store: FileStore,
  file: ClaimedFile,
  { name, bytes }: WrittenFile,
  profileIds: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<NewFile | undefined> => {
  const range = newRange()
  const isKept = ({ profileId, receivedAt }: JsonEvent): boolean => {
    if (profileId !== null && profileIds.has(profileId)) return false
    noteEvent(range, new Date(receivedAt), profileId)
    return true
  }
  if (file.format === 'parquet') {
    const pieces = rewriteParquet(store, name, bytes, (row) => isKept(row as JsonEvent))
    return putFile(store, file, pieces, range, signal)
  }
  const content = await store.read(name)
  if (!content) throw new Error(`${name} is missing`)
  const pieces = rewriteGzippedLines(content, (line) => isKept(parseLine(line)))
  return putFile(store, file, pieces, range, signal)
}
