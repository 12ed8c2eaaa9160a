export { addArchiveErasure, readWaitingErasures } from './archive-erasure-queries.ts'
export { type ArchiveFormat, type ArchiverDeps, archiveFormats, createArchiver } from './archive-events.ts'
export {
  createArchivedUntil,
  dequeueForGood,
  forgetQueued,
  queueForArchive,
  readArchiveDelay,
} from './archive-queries.ts'
export { type ArchiveEraserDeps, createArchiveEraser } from './erase-archive.ts'
export { type ArchiveProblem, verifyArchive } from './verify-archive.ts'
