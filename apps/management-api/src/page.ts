import { UUID, unprocessable } from './validation.ts'

/** A list's parameters as its schema read them. */
type PageQuery = { limit: number; cursor?: string | undefined }

/**
 * A page of records in the order of their ids, newest first; ids are UUIDv7, so that is the order of creation and
 * records created meanwhile do not shift pages. `fetch` is asked for one more than the page holds.
 * @throws AppError unprocessable when the cursor is not usable
 */
export const pageOf = async <T extends { id: string }, View>(
  { limit, cursor }: PageQuery,
  fetch: (where: { id?: { lt: string } }, take: number) => Promise<T[]>,
  view: (record: T) => View,
): Promise<{ data: View[]; nextCursor: string | null }> => {
  const found = await fetch(cursor === undefined ? {} : { id: { lt: parseCursor(cursor) } }, limit + 1)
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const nextCursor = found.length > limit && last ? cursorOf(last.id) : null
  return { data: page.map(view), nextCursor }
}

/** The opaque text in which a client carries a record's id to the next page. */
export const cursorOf = (id: string): string => Buffer.from(id).toString('base64url')

/** The id in a cursor. @throws AppError unprocessable when it is none */
export const parseCursor = (text: string): string => {
  const id = Buffer.from(text, 'base64url').toString('latin1')
  if (UUID.test(id)) return id
  throw unprocessable('cursor', 'format', 'is not a cursor of this list')
}
