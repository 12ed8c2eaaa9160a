export { type ArchivedUntil, withoutArchive } from './archived-until.ts'
export { keptBy } from './kept-since.ts'
export { createRetention } from './remove-old-events.ts'
