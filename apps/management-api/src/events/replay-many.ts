import { MAX_REPLAY_RECORDS, type ReplayResult } from '@waymark/contracts'

/** Records that are read, sent and marked together. */
const CHUNK_RECORDS = 200
const DEADLINE_MS = 10_000

/** How many are counted that are left. */
export const MAX_REMAINING = 10_000

/** What differs between kinds of records; `Cursor` is the place of a record in their order. */
export type Replayable<T, Cursor> = {
  /** The next records behind a place, in order, that have not been replayed. */
  read: (after: Cursor | undefined, take: number) => Promise<T[]>
  cursorOf: (record: T) => Cursor
  /** Sends those that would not fail again and marks them, and answers how many it sent and how many would fail. */
  replay: (records: T[]) => Promise<Pick<ReplayResult, 'replayed' | 'stillInvalid'>>
  /** How many there are behind a place, up to `MAX_REMAINING`. */
  count: (after: Cursor | undefined) => Promise<number>
}

/**
 * Replays records chunk by chunk, up to a thousand or ten seconds of them, and answers where to go on. A record is marked
 * after it was sent: when that fails in between it is sent again by the next request, and stored once all the same.
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
