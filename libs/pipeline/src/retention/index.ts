export { keptBy } from './kept-since.ts'
export { type ArchivedUntil, createRetention, withoutArchive } from './remove-old-events.ts'
