import type { EventQuery } from '@waymark/contracts'
import { unprocessable } from './validation.ts'

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/

/** Where a page ended. */
export type EventCursor = { receivedAt: Date; eventKey: string }

/** Which events are asked for, with the cursor read; filters that are given must all match. */
export type PlacedEventQuery = Omit<EventQuery, 'cursor'> & { after?: EventCursor }

/** Reads where the page begins. @throws AppError unprocessable when the cursor is not one of this list */
export const placeQuery = ({ cursor, ...query }: EventQuery): PlacedEventQuery => ({
  ...query,
  ...(cursor !== undefined && { after: parseCursor(cursor) }),
})

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
