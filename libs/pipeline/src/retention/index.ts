export { createForgetIds } from './forget-ids.ts'
export { keptBy } from './kept-since.ts'
export { type ArchivedUntil, createRetention } from './remove-old-events.ts'
