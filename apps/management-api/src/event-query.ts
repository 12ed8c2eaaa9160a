import { compileValidator } from '@waymark/contracts'
import { type Static, Type } from 'typebox'
import { parseLimit } from './page.ts'
import { unprocessable } from './validation.ts'

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/

/** Where a page ended. */
export type EventCursor = { receivedAt: Date; eventKey: string }

/** Which events are asked for; filters that are given must all match. */
export type EventQuery = {
  eventId?: string
  eventName?: string
  visitorId?: string
  userId?: string
  limit: number
  cursor?: EventCursor
}

/** A parameter that must equal an id or a name. PostgreSQL refuses U+0000 in any text, also in one to compare with. */
export const idFilter = Type.Optional(Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000]*$' }))
const QueryString = Type.Object({
  eventId: idFilter,
  eventName: idFilter,
  visitorId: idFilter,
  userId: idFilter,
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,3}$' })),
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
})
const queryString = compileValidator(QueryString)

/**
 * Reads the query string of an events request.
 * @throws AppError unprocessable, with the parameter at fault in `errors`
 */
export const parseEventQuery = (query: unknown): EventQuery => {
  const problem = queryString.check(query)
  if (problem) throw unprocessable(problem.field, problem.rule, problem.message)
  const { limit, cursor, ...filters } = pick(query as Static<typeof QueryString>)
  return {
    ...filters,
    limit: parseLimit(limit),
    ...(cursor !== undefined && { cursor: parseCursor(cursor) }),
  }
}

/** The opaque text in which a client carries a cursor from page to page. */
export const formatCursor = ({ receivedAt, eventKey }: EventCursor): string =>
  Buffer.from(`${receivedAt.toISOString()}_${eventKey}`).toString('base64url')

const parseCursor = (text: string): EventCursor => {
  const [, receivedAt, eventKey] = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  const time = new Date(receivedAt ?? Number.NaN)
  if (!eventKey || Number.isNaN(time.getTime()))
    throw unprocessable('cursor', 'format', 'is not a cursor of this list')
  return { receivedAt: time, eventKey }
}

// Only what is asked for: the query string may hold anything else, which is ignored.
const pick = ({ eventId, eventName, visitorId, userId, limit, cursor }: Static<typeof QueryString>) => ({
  ...(eventId !== undefined && { eventId }),
  ...(eventName !== undefined && { eventName }),
  ...(visitorId !== undefined && { visitorId }),
  ...(userId !== undefined && { userId }),
  limit,
  cursor,
})
