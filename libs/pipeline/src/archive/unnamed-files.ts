import path from 'node:path/posix'
import type { FileStore } from '@waymark/event-files'
import type { Pool } from 'pg'
import { ARCHIVE_FOLDER, fileName, manifestName } from './archive-file.ts'
import { findFiles } from './archive-queries.ts'

/** Files that are looked up at once. */
const PORTION = 1_000
const ID_AND_ATTEMPT =
  /_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:_(\d{1,9})\.[a-z.]+|\.manifest\.json)$/

/** The files in the folder of the archive that are neither named by a manifest, nor one, nor being written or removed. */
export async function* listUnnamedFiles(pool: Pool, store: FileStore): AsyncGenerator<string> {
  let portion: string[] = []
  for await (const name of store.list(ARCHIVE_FOLDER)) {
    portion.push(name)
    if (portion.length < PORTION) continue
    yield* unnamedOf(pool, store, portion)
    portion = []
  }
  yield* unnamedOf(pool, store, portion)
}

async function* unnamedOf(pool: Pool, store: FileStore, names: readonly string[]): AsyncGenerator<string> {
  const ids = names.flatMap((name) => ID_AND_ATTEMPT.exec(name)?.[1] ?? [])
  const files = new Map((await findFiles(pool, ids)).map((found) => [found.file.id, found]))
  const unnamed = names.filter((name) => {
    const [, id = '', attempt] = ID_AND_ATTEMPT.exec(name) ?? []
    const found = files.get(id)
    return !found || !isOf(found, name, attempt === undefined ? undefined : Number(attempt))
  })
  // Some were removed after they were listed.
  for (const [folder, listed] of Map.groupBy(unnamed, (name) => path.dirname(name))) {
    const present = new Set(await Array.fromAsync(store.list(folder)))
    yield* listed.filter((name) => present.has(name))
  }
}

/** Whether a name is that of a file, of its manifest, or of an attempt while the file is written or rewritten. */
const isOf = (
  { file, isFinished }: Awaited<ReturnType<typeof findFiles>>[number],
  name: string,
  attempt: number | undefined,
): boolean => {
  if (attempt === undefined) return name === manifestName(file)
  if (name === file.written?.name) return true
  // A rewrite has begun with the next attempt.
  const isInWork = !isFinished || file.manifestPending || file.written?.name !== fileName(file)
  return isInWork && attempt <= file.attempt && name === fileName(file, attempt)
}
