export {
  EVENT_COLUMNS,
  type EventPlace,
  type EventRow,
  eventView,
  placeBefore,
} from './stored-event.ts'
