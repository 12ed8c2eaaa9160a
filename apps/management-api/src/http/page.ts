import { MAX_PAGE_BYTES } from '@waymark/contracts'
import { UUID, unprocessable } from './validation.ts'

/** Records that are read at a time: of the largest, reading more would keep others waiting. */
const RECORDS_PER_READ = 25

/** A list's parameters as its schema read them. */
type PageQuery = { limit: number; cursor?: string | undefined }

/**
 * A page of records in the order of their ids, newest first; ids are UUIDv7, so that is the order of creation and
 * records created meanwhile do not shift pages. A page of large records ends early, as `fillPage` has it.
 * @throws AppError unprocessable when the cursor is not usable
 */
export const pageOf = async <T extends { id: string }, View>(
  { limit, cursor }: PageQuery,
  fetch: (where: { id?: { lt: string } }, take: number) => Promise<T[]>,
  view: (record: T) => View,
): Promise<{ data: View[]; nextCursor: string | null }> => {
  const start = cursor === undefined ? undefined : parseCursor(cursor)
  const { page, hasMore } = await fillPage<T, View>(limit, view, (last, take) => {
    const before = last?.id ?? start
    return fetch(before === undefined ? {} : { id: { lt: before } }, take)
  })
  const last = page.at(-1)
  return {
    data: page.map(({ shown }) => shown),
    nextCursor: hasMore && last ? cursorOf(last.record.id) : null,
  }
}

/**
 * Fills a page with at most `limit` records and `MAX_PAGE_BYTES`, but one record at least. `readAfter` reads the records
 * that follow the last one so far, at most `take`, and is called until the page is full.
 */
export const fillPage = async <T, View>(
  limit: number,
  view: (record: T) => View,
  readAfter: (last: T | undefined, take: number) => Promise<T[]>,
): Promise<{ page: { record: T; shown: View }[]; hasMore: boolean }> => {
  const page: { record: T; shown: View }[] = []
  let bytes = 0
  for (;;) {
    // One more than the page holds tells whether there is another page.
    const take = Math.min(limit + 1 - page.length, RECORDS_PER_READ)
    const found = await readAfter(page.at(-1)?.record, take)
    for (const record of found) {
      const shown = view(record)
      bytes += Buffer.byteLength(JSON.stringify(shown))
      const isFull = page.length === limit || (bytes > MAX_PAGE_BYTES && page.length > 0)
      if (isFull) return { page, hasMore: true }
      page.push({ record, shown })
    }
    if (found.length < take) return { page, hasMore: false }
  }
}

/** The opaque text in which a client carries a record's id to the next page. */
export const cursorOf = (id: string): string => Buffer.from(id).toString('base64url')

/** The id in a cursor. @throws AppError unprocessable when it is none */
export const parseCursor = (text: string): string => {
  const id = Buffer.from(text, 'base64url').toString('latin1')
  if (UUID.test(id)) return id
  throw unprocessable('cursor', 'format', 'must be the nextCursor of an earlier page of this list')
}
