import type { AppError } from '@waymark/contracts/app-error'
import { MAX_PAGE_BYTES } from '@waymark/contracts/http/page'
import { createReadSize } from './read-size.ts'
import { UUID, unprocessable } from './validation.ts'

/** Maximum records per read. */
const RECORDS_PER_READ = 100

/** A list's parameters as its schema read them. */
type PageQuery = { limit: number; cursor?: string | undefined }

/** The records of one read: at most `take` with ids below `before`, newest first. */
type PagePart = { before: string | undefined; take: number }

/** The arguments of Prisma's `findMany` that read the part of a page, of the records that match `where`. */
type PageArguments = <Where extends object>(
  where: Where,
) => { where: Where & { id?: { lt: string } }; orderBy: { id: 'desc' }; take: number }

/**
 * Lists records by descending id. Ids are UUIDv7, so the newest record comes first and new records do not shift pages.
 * @throws AppError unprocessable when the cursor is not usable
 */
export const pageOf = async <T extends { id: string }, View>(
  { limit, cursor }: PageQuery,
  fetch: (page: PageArguments, part: PagePart) => Promise<T[]>,
  view: (record: T) => View,
): Promise<{ data: View[]; nextCursor: string | null }> => {
  const start = cursor === undefined ? undefined : parseIdCursor(cursor)
  const { data, last } = await fillPage<T, View>(limit, view, (previous, take) => {
    const before = previous?.id ?? start
    const page: PageArguments = (where) => ({
      where: { ...where, ...(before !== undefined && { id: { lt: before } }) },
      orderBy: { id: 'desc' },
      take,
    })
    return fetch(page, { before, take })
  })
  return { data, nextCursor: last ? encodeCursor(last.id) : null }
}

/**
 * Fills a page with at most `limit` records and `MAX_PAGE_BYTES`, but at least one record. `readAfter` reads at most
 * `take` records after the previous one, and is called until the page is full. `last` is the last record of the page if
 * another page follows.
 */
export const fillPage = async <T, View>(
  limit: number,
  view: (record: T) => View,
  readAfter: (previous: T | undefined, take: number) => Promise<T[]>,
): Promise<{ data: View[]; last: T | undefined }> => {
  const data: View[] = []
  let previous: T | undefined
  let bytes = 0
  const size = createReadSize(RECORDS_PER_READ)
  for (;;) {
    // One record more than the page holds shows whether another page follows.
    const take = Math.min(limit + 1 - data.length, size.records())
    const found = await readAfter(previous, take)
    const bytesBefore = bytes
    for (const record of found) {
      const shown = view(record)
      bytes += Buffer.byteLength(JSON.stringify(shown))
      const isFull = data.length === limit || (bytes > MAX_PAGE_BYTES && data.length > 0)
      if (isFull) return { data, last: previous }
      data.push(shown)
      previous = record
    }
    if (found.length < take) return { data, last: undefined }
    size.note(found.length, bytes - bytesBefore)
  }
}

/** An opaque cursor that holds the position of a record in its list. */
export const encodeCursor = (position: string): string => Buffer.from(position).toString('base64url')

/** The position in a cursor, to be checked by its list. */
export const decodeCursor = (cursor: string): string => Buffer.from(cursor, 'base64url').toString('utf8')

/** The id in a cursor. @throws AppError unprocessable when it is none */
export const parseIdCursor = (cursor: string): string => {
  const id = decodeCursor(cursor)
  if (UUID.test(id)) return id
  throw unusableCursor()
}

/** 422 for a cursor that is not one of its list. */
export const unusableCursor = (): AppError =>
  unprocessable('cursor', 'format', 'must be the nextCursor of an earlier page of this list')
