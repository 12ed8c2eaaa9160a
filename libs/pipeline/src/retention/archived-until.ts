/**
 * Until when (in ms, exclusive, by receipt) the archive has all events of a project, so that these may be removed.
 * `undefined` without an archive: then the archive does not limit the removal.
 */
export type ArchivedUntil = (projectId: string) => Promise<number | undefined>

/** For deployments without an archive. */
export const withoutArchive: ArchivedUntil = async () => undefined
