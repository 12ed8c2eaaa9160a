export { EVENT_COLUMNS, type EventRow, eventView } from './event-view.ts'
