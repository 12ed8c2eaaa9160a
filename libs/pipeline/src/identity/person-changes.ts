import type { SharedMarks } from '@waymark/cache'
import type { Identity } from '@waymark/domain'
import { v7 as uuidv7 } from 'uuid'

/** How long a change is marked, in ms: longer than anything counts as current that is remembered of a person. */
const CHANGED_MS = 15_000
/** How long a change is marked that waits in the queue, in ms, unless it is applied before. */
const QUEUED_MS = 10 * 60_000
const QUEUED = 'queued:'

/** Where it is marked that an id may belong to another profile than before. */
export const identityMark = ({ projectId, kind, value }: Identity): string =>
  `person:${projectId}:${kind}:${value}`
/** Where it is marked that a profile's traits changed. */
export const profileMark = (profileId: string): string => `profile:${profileId}`
/** Whether a mark says that a change is accepted and not applied yet. */
export const isQueuedMark = (mark: string | undefined): boolean => mark?.startsWith(QUEUED) ?? false

/** Has every process know that what it remembers of people is outdated; to be awaited before a change is answered. */
export const createPersonChanges = (marks: SharedMarks) => ({
  /** After the commit: `identities` are those that were named, `profileIds` the profiles that changed. */
  announce: (identities: readonly Identity[], profileIds: readonly string[]): Promise<void> =>
    marks.set([...identities.map(identityMark), ...profileIds.map(profileMark)], uuidv7(), CHANGED_MS),
  /** After it was queued. */
  announceQueued: (identities: readonly Identity[]): Promise<void> =>
    marks.set(identities.map(identityMark), `${QUEUED}${uuidv7()}`, QUEUED_MS),
})

export type PersonChanges = ReturnType<typeof createPersonChanges>
