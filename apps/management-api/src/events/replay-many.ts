import { MAX_REPLAY_RECORDS, type ReplayResult } from '@waymark/contracts/http/replay'

/** Records that are read, published and marked together. */
const CHUNK_RECORDS = 200
const DEADLINE_MS = 10_000

/** Remaining records are counted up to this number. */
export const MAX_REMAINING = 10_000

/** How one kind of record is replayed; `Cursor` is the place of a record in their order. */
export type Replayable<T, Cursor> = {
  /** Reads the next records after a place, in order, that have not been replayed. */
  read: (after: Cursor | undefined, take: number) => Promise<T[]>
  cursorOf: (record: T) => Cursor
  /** Publishes and marks the records that are valid now; resolves to how many are valid and how many are not. */
  replay: (records: T[]) => Promise<Pick<ReplayResult, 'replayed' | 'stillInvalid'>>
  /** Counts the records after a place, up to `MAX_REMAINING`. */
  count: (after: Cursor | undefined) => Promise<number>
}

/**
 * Replays records in chunks, at most `MAX_REPLAY_RECORDS` or for ten seconds, and resolves to where to continue. A record
 * is marked after it is published. If that fails, the next request publishes it again, and it is still stored once.
 */
export const replayMany = async <T, Cursor>(
  { read, cursorOf, replay, count }: Replayable<T, Cursor>,
  start: Cursor | undefined,
  now: () => number,
): Promise<Omit<ReplayResult, 'nextCursor'> & { next: Cursor | undefined }> => {
  const deadline = now() + DEADLINE_MS
  let after = start
  let replayed = 0
  let stillInvalid = 0
  for (let seen = 0; seen < MAX_REPLAY_RECORDS && now() < deadline; ) {
    const records = await read(after, CHUNK_RECORDS)
    const last = records.at(-1)
    if (!last) return { replayed, stillInvalid, remaining: 0, next: undefined }
    const result = await replay(records)
    replayed += result.replayed
    stillInvalid += result.stillInvalid
    seen += records.length
    after = cursorOf(last)
  }
  const remaining = await count(after)
  return { replayed, stillInvalid, remaining, next: remaining > 0 ? after : undefined }
}
