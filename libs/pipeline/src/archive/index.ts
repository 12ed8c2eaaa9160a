export { type ArchiveFormat, type ArchiverDeps, archiveFormats, createArchiver } from './archive-events.ts'
export { createArchivedUntil, queueForArchive, readArchiveDelay } from './archive-queries.ts'
export { archivedProjectsOf } from './archived-projects.ts'
export { type ArchiveProblem, verifyArchive } from './verify-archive.ts'
