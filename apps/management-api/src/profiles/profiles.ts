import { setTimeout as sleep } from 'node:timers/promises'
import {
  eraseProfile,
  exportProfile,
  getProfile,
  getProfileTimeline,
  listProfiles,
  type ProfileQuery,
} from '@waymark/contracts/http/profile-view'
import type { Identity } from '@waymark/domain/identity'
import type { EventQueries } from '@waymark/event-store'
import {
  createPersonChanges,
  createPurger,
  type ErasureJob,
  eraseProfile as erase,
  exportPerson,
  findPerson,
} from '@waymark/pipeline'
import { disconnectSignal, type Platform, type Route } from '@waymark/service-kit'
import { limitConcurrency } from '../http/limit-concurrency.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { whileAllowed } from '../http/while-allowed.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { findProfileOf, listTimeline, readProfile } from './profile-queries.ts'
import { readProfileSearch, SEARCH_TIMEOUT_MS, searchProfiles } from './search-profiles.ts'

/** Each export holds a database connection until it has been sent. */
const EXPORT_LIMITS = { perProject: 2, perTenant: 2, total: 4, what: 'exports of people', reclaims: true }
/** How long an erasure runs within its request, in ms. */
const PURGE_DEADLINE_MS = 5_000
/** How long it waits before it asks again whether another process is at work on it, in ms. */
const BUSY_PAUSE_MS = 100

/** Profiles: look-up, timeline, export and erasure. */
export const profileRoutes = ({
  projectRoute,
  exports,
  db,
  clock,
  marks,
  purge,
  runQuery,
  runList,
  steadyClock,
  eventStore,
}: ManagementDeps): Route[] => [
  projectRoute(listProfiles, async ({ projectId, request, query }) => {
    if (isSearch(query)) {
      const search = readProfileSearch(query)
      const about = { projectId, request, timeoutMs: SEARCH_TIMEOUT_MS }
      return {
        body: await runQuery(about, (queryStore) => searchProfiles(db.pool, queryStore, projectId, search)),
      }
    }
    const data = await findProfileOf(db.pool, { projectId, ...parseProfileQuery(query) })
    return { body: { data, nextCursor: null } }
  }),
  projectRoute(getProfile, async ({ projectId, id }) => ({
    body: requireFound(await readProfile(db.pool, projectId, requireId(id))),
  })),
  projectRoute(getProfileTimeline, async ({ projectId, id, query, request }) => {
    const person = requireFound(await findPerson(db, { projectId, profileId: requireId(id) }))
    const read = (events: EventQueries) => listTimeline({ pool: db.pool, events }, person, query)
    return { body: await runList({ projectId, request }, read) }
  }),
  projectRoute(
    exportProfile,
    exports(
      limitConcurrency(EXPORT_LIMITS)(async ({ projectId, id, request, allowAgain }) => {
        const person = requireFound(await findPerson(db, { projectId, profileId: requireId(id) }))
        const events = eventStore.queriesUntil(disconnectSignal(request))
        return { stream: whileAllowed(exportPerson({ db, events }, person), allowAgain, steadyClock) }
      }),
    ),
  ),
  projectRoute(eraseProfile, async ({ projectId, id, requireMatch }) => {
    const job = await erase(
      { db, now: clock },
      {
        projectId,
        profileId: requireId(id),
        confirm: async (client, living) => requireMatch(await readProfile(client, projectId, living)),
      },
    )
    const erasure = requireFound(job)
    const { erasedAt, id: erasureId, inArchive } = erasure
    await createPersonChanges(marks).announce(identitiesIn(erasure), erasure.profileIds)
    const done = await purge(erasure, PURGE_DEADLINE_MS)
    // Events received after the answer belong to a new person.
    await sleep(Math.max(0, erasedAt.getTime() + 1 - clock()))
    return { status: 202, body: { id: erasureId, profileId: id, erasedAt, done, inArchive } }
  }),
]

/** The ids by which the people of an erasure were known. */
export const identitiesIn = ({ projectId, visitorIds, userIds }: ErasureJob): Identity[] => [
  ...visitorIds.map((value) => ({ projectId, kind: 'visitor' as const, value })),
  ...userIds.map((value) => ({ projectId, kind: 'user' as const, value })),
]

/**
 * Purges an erased person within the request, and resolves to whether all data is removed. The persistence consumer
 * continues after the deadline.
 */
export const createErasurePurge = ({
  log,
  ...stores
}: Pick<Platform, 'db' | 'eventStore' | 'cache' | 'deleteMailCopies' | 'log'>) => {
  const purger = createPurger(stores)
  return async (job: ErasureJob, deadlineMs: number): Promise<boolean> => {
    const deadline = AbortSignal.timeout(deadlineMs)
    try {
      while (!(await purger.purge(job, deadline))) {
        if (deadline.aborted) return false
        await sleep(BUSY_PAUSE_MS)
      }
      return true
    } catch (error) {
      log.warn(
        { err: error, erasure: job.id },
        'Erasure exceeded its request; it continues in the background',
      )
      return false
    }
  }
}

/** Whether people are searched. @throws AppError unprocessable when an exact id is given as well */
const isSearch = ({ userId, visitorId, search, filters }: ProfileQuery): boolean => {
  if (search === undefined && filters === undefined) return false
  const [given] = Object.entries({ userId, visitorId }).find(([, value]) => value !== undefined) ?? []
  if (given !== undefined)
    throw unprocessable(given, 'exclusive', 'cannot be combined with search or filters')
  return true
}

/**
 * Reads the user or visitor of a profiles request.
 * @throws AppError unprocessable unless it names exactly one
 */
const parseProfileQuery = ({ userId, visitorId }: ProfileQuery): Omit<Identity, 'projectId'> => {
  if (userId !== undefined && visitorId === undefined) return { kind: 'user', value: userId }
  if (visitorId !== undefined && userId === undefined) return { kind: 'visitor', value: visitorId }
  if (userId === undefined)
    throw unprocessable('userId', 'required', 'or visitorId, search or filters is required')
  throw unprocessable('visitorId', 'exclusive', 'cannot be combined with userId')
}
