import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { countParquetRows, type FileStore, readGzippedLines } from '@waymark/event-files'
import type { EventQueries } from '@waymark/event-store'
import type { Pool } from 'pg'
import { manifestName, manifestOf } from './archive-file.ts'
import {
  type ClaimedFile,
  countHours,
  findFinishedFile,
  type HourCount,
  listFinishedFiles,
} from './archive-queries.ts'
import { listUnnamedFiles } from './unnamed-files.ts'

/** What is wrong with a file of the archive. */
export type ArchiveProblem = { file: string; problem: string }
export type ArchiveCheck = {
  files: number
  events: number
  problems: ArchiveProblem[]
  others: string[]
  hours: HourCount[]
}

/** What readers that do not start from manifests take for data. */
const DATA_FILE = /\.(?:parquet|jsonl\.gz)$/
const MANIFEST = /\.manifest\.json$/

/**
 * Compares the archive with the database and the event store: each file with its manifest, its size, its hash and its number of events, and
 * the events of each hour with those that are stored. Reads files as streams, and counts one hour at a time. Files that no
 * manifest names are problems where a reader of the archive would take them for data; `others` has the rest of them.
 */
export const verifyArchive = async (
  pool: Pool,
  store: FileStore,
  events: Pick<EventQueries, 'readPlaces'>,
): Promise<ArchiveCheck> => {
  const problems: ArchiveProblem[] = []
  let files = 0
  let archived = 0
  for await (const listed of listFinishedFiles(pool)) {
    const { file, problem } = await checkFile(pool, store, listed)
    if (!file?.written) continue
    files++
    archived += file.written.events
    if (problem) problems.push(problem)
  }
  const others: string[] = []
  for await (const file of listUnnamedFiles(pool, store)) {
    if (DATA_FILE.test(file)) problems.push({ file, problem: 'is named by no manifest' })
    else if (MANIFEST.test(file)) problems.push({ file, problem: 'is the manifest of no file' })
    else others.push(file)
  }
  const hours: HourCount[] = []
  for await (const hour of countHours(pool, events)) if (hour.archived !== hour.stored) hours.push(hour)
  return { files, events: archived, problems, others, hours }
}

/** Checks a file again when it was rewritten or removed meanwhile. */
const checkFile = async (
  pool: Pool,
  store: FileStore,
  listed: ClaimedFile,
): Promise<{ file?: ClaimedFile; problem?: ArchiveProblem }> => {
  for (let file = listed; ; ) {
    const problem = await problemOf(store, file)
    if (!problem) return { file }
    const now = await findFinishedFile(pool, file)
    if (!now) return {}
    if (now.written?.name === file.written?.name && now.manifestPending === file.manifestPending)
      return { file, problem }
    file = now
  }
}

const problemOf = async (store: FileStore, file: ClaimedFile): Promise<ArchiveProblem | undefined> => {
  const { written } = file
  // The files of a file without events are being removed.
  if (!written || written.events === 0) return undefined
  // The manifest of a file that is being rewritten follows.
  if (!file.manifestPending) {
    const manifest = await store.read(manifestName(file))
    if (!manifest) return { file: manifestName(file), problem: 'is missing' }
    if (!(await buffer(manifest)).equals(manifestOf(file, written)))
      return { file: manifestName(file), problem: 'is not what the database says' }
  }
  const { name: fileName, bytes, sha256, events } = written
  const content = await store.read(fileName)
  if (!content) return { file: fileName, problem: 'is missing' }
  const hash = createHash('sha256')
  for await (const piece of content) hash.update(piece)
  if (hash.digest('hex') !== sha256)
    return { file: fileName, problem: 'has another SHA-256 than its manifest' }
  const count =
    file.format === 'parquet'
      ? await countParquetRows(store, fileName, bytes)
      : await countLines(await store.read(fileName))
  return count === events
    ? undefined
    : { file: fileName, problem: `has ${count} events, and its manifest says ${events}` }
}

const countLines = async (content: AsyncIterable<Uint8Array> | undefined): Promise<number> => {
  if (!content) return 0
  let count = 0
  for await (const lines of readGzippedLines(content)) count += lines.length
  return count
}
