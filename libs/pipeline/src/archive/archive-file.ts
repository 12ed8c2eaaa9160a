import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FileStore } from '@waymark/event-files'
import type { ClaimedFile, NewFile, WrittenFile } from './archive-queries.ts'
import { personKey } from './person-key.ts'

/** The folder of all files of the archive. */
export const ARCHIVE_FOLDER = 'events'

const folderOf = ({ hour }: ClaimedFile): string => {
  const time = hour.toISOString()
  return `${ARCHIVE_FOLDER}/date=${time.slice(0, 10)}/hour=${time.slice(11, 13)}`
}

/** The name of what an attempt writes. */
export const fileName = (file: ClaimedFile, attempt = file.attempt): string =>
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

/** What is known of the events of a file once they are all written. */
export type EventRange = { events: number; first: Date | undefined; last: Date; people: Set<number> }

export const newRange = (): EventRange => ({
  events: 0,
  first: undefined,
  last: new Date(0),
  people: new Set(),
})

/** Notes the next event of a file. */
export const noteEvent = (range: EventRange, receivedAt: Date, profileId: string | null): void => {
  range.events++
  range.first ??= receivedAt
  range.last = receivedAt
  if (profileId !== null) range.people.add(personKey(profileId))
}

/**
 * Writes the file of the present attempt.
 * @param range complete once `pieces` end
 * @returns undefined when it has no events; then it is not in the store
 */
export const putFile = async (
  store: FileStore,
  file: ClaimedFile,
  pieces: AsyncIterable<Uint8Array>,
  range: EventRange,
  signal: AbortSignal,
): Promise<NewFile | undefined> => {
  const name = fileName(file)
  const hash = createHash('sha256')
  let bytes = 0
  async function* content(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      hash.update(piece)
      bytes += piece.byteLength
      yield piece
    }
  }
  await store.put(name, content(), signal)
  const { events, first, last, people } = range
  if (first === undefined) {
    await store.remove(name)
    return undefined
  }
  const sha256 = hash.digest('hex')
  return { name, events, bytes, sha256, firstReceivedAt: first, lastReceivedAt: last, people: [...people] }
}

/** Writes the manifest of a file, the same in each process, and then removes what other attempts have left. */
export const putManifest = async (
  store: FileStore,
  file: ClaimedFile,
  written: WrittenFile,
  signal: AbortSignal,
): Promise<void> => {
  await store.put(manifestName(file), Readable.from([manifestOf(file, written)]), signal)
  // Without a manifest they do not count, but a reader by a pattern would find them, and they may hold erased people.
  await removeAttempts(store, file, written.name)
}

/** Removes a file that has no events any more. */
export const removeFile = async (store: FileStore, file: ClaimedFile): Promise<void> => {
  await store.remove(manifestName(file))
  await removeAttempts(store, file)
}

/** Removes what the present attempt and earlier ones have written. */
export const removeAttempts = async (store: FileStore, file: ClaimedFile, except?: string): Promise<void> => {
  for (let attempt = 1; attempt <= file.attempt; attempt++) {
    const name = fileName(file, attempt)
    if (name !== except) await store.remove(name)
  }
}
