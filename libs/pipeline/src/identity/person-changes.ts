import type { SharedMarks } from '@waymark/cache'
import type { Identity } from '@waymark/domain/identity'
import { v7 as uuidv7 } from 'uuid'

/** How long a change is marked, in ms. Longer than caches consider a person as current. */
const CHANGED_MS = 15_000
/** How long a queued change is marked, in ms, unless it is applied earlier. */
const QUEUED_MS = 10 * 60_000
const QUEUED = 'queued:'

/** The key of the mark that an id may belong to another profile than before. */
export const identityMark = ({ projectId, kind, value }: Identity): string =>
  `person:${projectId}:${kind}:${value}`
/** The key of the mark that the traits of a profile changed. */
export const profileMark = (profileId: string): string => `profile:${profileId}`
/** Whether a mark means that a change is accepted but not applied yet. */
export const isQueuedMark = (mark: string | undefined): boolean => mark?.startsWith(QUEUED) ?? false

/** Announces changes to processes that cache people. Await it before answering the request that made the change. */
export const createPersonChanges = (marks: SharedMarks) => ({
  /** Call it after the commit, with the identities in the request and the changed profiles. */
  announce: (identities: readonly Identity[], profileIds: readonly string[]): Promise<void> =>
    marks.set([...identities.map(identityMark), ...profileIds.map(profileMark)], uuidv7(), CHANGED_MS),
  /** Call it after a change was queued. */
  announceQueued: (identities: readonly Identity[]): Promise<void> =>
    marks.set(identities.map(identityMark), `${QUEUED}${uuidv7()}`, QUEUED_MS),
})

export type PersonChanges = ReturnType<typeof createPersonChanges>
