export { type EventPlace, placeBefore } from './event-place.ts'
export { EVENT_COLUMNS, type EventRow, eventView } from './event-view.ts'
