import { UUID, unprocessable } from './validation.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 500

/** Which part of a list is asked for; `after` is the id that the last page ended with. */
export type PageQuery = { limit: number; after: string | undefined }

/** Reads `limit` and `cursor`. @throws AppError unprocessable when either is not usable */
export const parsePage = ({ limit, cursor }: Record<string, unknown>): PageQuery => ({
  limit: parseLimit(limit),
  after: cursor === undefined ? undefined : parseCursor(cursor),
})

/** How many are asked for, 50 unless said. @throws AppError unprocessable unless it is from 1 to 500 */
export const parseLimit = (text: unknown): number => {
  const limit =
    text === undefined ? DEFAULT_LIMIT : typeof text === 'string' && /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= MAX_LIMIT) return limit
  throw unprocessable('limit', 'range', `must be from 1 to ${MAX_LIMIT}`)
}

/**
 * A page of records in the order of their ids, newest first; ids are UUIDv7, so that is the order of creation and
 * records created meanwhile do not shift pages. `fetch` is asked for one more than the page holds.
 */
export const pageOf = async <T extends { id: string }, View>(
  { limit, after }: PageQuery,
  fetch: (where: { id?: { lt: string } }, take: number) => Promise<T[]>,
  view: (record: T) => View,
): Promise<{ data: View[]; nextCursor: string | null }> => {
  const found = await fetch(after === undefined ? {} : { id: { lt: after } }, limit + 1)
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const nextCursor = found.length > limit && last ? Buffer.from(last.id).toString('base64url') : null
  return { data: page.map(view), nextCursor }
}

const parseCursor = (text: unknown): string => {
  const id = typeof text === 'string' ? Buffer.from(text, 'base64url').toString('latin1') : ''
  if (UUID.test(id)) return id
  throw unprocessable('cursor', 'format', 'is not a cursor of this list')
}
