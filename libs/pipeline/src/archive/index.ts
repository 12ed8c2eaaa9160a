export { type ArchiveFormat, type ArchiverDeps, archiveFormats, createArchiver } from './archive-events.ts'
export { createArchivedUntil, queueForArchive, readArchiveDelay } from './archive-queries.ts'
export { type ArchiveProblem, verifyArchive } from './verify-archive.ts'
