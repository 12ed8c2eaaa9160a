import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { countParquetRows, type FileStore } from '@waymark/event-files'
import type { Pool } from 'pg'
import { manifestName, manifestOf } from './archive-events.ts'
import { type ClaimedFile, countHours, type HourCount, listFinishedFiles } from './archive-queries.ts'

/** What is wrong with a file of the archive. */
export type ArchiveProblem = { file: string; problem: string }

/**
 * Compares the archive with the database: each file with its manifest, its size, its hash and its number of events, and
 * the events of each hour with those that are stored.
 */
export const verifyArchive = async (
  pool: Pool,
  store: FileStore,
): Promise<{ files: number; events: number; problems: ArchiveProblem[]; hours: HourCount[] }> => {
  const problems: ArchiveProblem[] = []
  let files = 0
  let events = 0
  for await (const file of listFinishedFiles(pool)) {
    files++
    events += file.written?.events ?? 0
    problems.push(...(await problemsOf(store, file)))
  }
  const hours = (await countHours(pool)).filter(({ archived, stored }) => archived !== stored)
  return { files, events, problems, hours }
}

const problemsOf = async (store: FileStore, file: ClaimedFile): Promise<ArchiveProblem[]> => {
  const { written } = file
  if (!written) return []
  const problem = (name: string, text: string): ArchiveProblem[] => [{ file: name, problem: text }]
  const manifest = await store.read(manifestName(file))
  if (!manifest) return problem(manifestName(file), 'is missing')
  if (!(await buffer(manifest)).equals(manifestOf(file, written)))
    return problem(manifestName(file), 'is not what the database says')
  const content = await store.read(written.name)
  if (!content) return problem(written.name, 'is missing')
  const bytes = await buffer(content)
  if (createHash('sha256').update(bytes).digest('hex') !== written.sha256)
    return problem(written.name, 'has another SHA-256 than its manifest')
  const count = file.format === 'parquet' ? countParquetRows(bytes) : await countLines(bytes)
  if (count !== written.events)
    return problem(written.name, `has ${count} events, and its manifest says ${written.events}`)
  return []
}

const countLines = async (bytes: Buffer): Promise<number> => {
  let lines = 0
  for await (const piece of Readable.from([bytes]).compose(createGunzip()) as AsyncIterable<Buffer>)
    for (const byte of piece) if (byte === 10) lines++
  return lines
}
