import { setTimeout as sleep } from 'node:timers/promises'
import {
  eraseProfile,
  exportProfile,
  getProfile,
  getProfileTimeline,
  listProfiles,
  type ProfileQuery,
} from '@waymark/contracts'
import type { Identity } from '@waymark/domain'
import {
  createPersonChanges,
  createPurger,
  type ErasureJob,
  eraseProfile as erase,
  exportPerson,
  findPerson,
} from '@waymark/pipeline'
import type { Platform, Route } from '@waymark/service-kit'
import { limitExports } from '../http/limit-exports.ts'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { findProfileOf, listTimeline, readProfile } from './profile-queries.ts'

/** Each export holds a database connection until its reader has taken it. */
const EXPORT_LIMITS = { perProject: 2, total: 4 }
/** How long an erasure may take within its request, in ms. */
const PURGE_DEADLINE_MS = 5_000

type Deps = Pick<Platform, 'db' | 'clock' | 'marks'> & {
  projectRoute: ProjectRouteFactory
  /** Takes what is stored of an erased person out of the stores; answers whether nothing is left. */
  purge: (job: ErasureJob) => Promise<boolean>
}

/** People: who they are, what they did, all that is stored of them, and that it is erased. */
export const profileRoutes = ({ projectRoute, db, clock, marks, purge }: Deps): Route[] => [
  projectRoute(listProfiles, async ({ projectId, query }) => {
    const data = await findProfileOf(db.pool, { projectId, ...parseProfileQuery(query) })
    return { body: { data, nextCursor: null } }
  }),
  projectRoute(getProfile, async ({ projectId, id }) => ({
    body: requireFound(await readProfile(db.pool, projectId, requireId(id))),
  })),
  projectRoute(getProfileTimeline, async ({ projectId, id, query }) => {
    const person = requireFound(await findPerson(db, { projectId, profileId: requireId(id) }))
    return { body: await listTimeline(db.pool, person, query) }
  }),
  projectRoute(
    exportProfile,
    limitExports(EXPORT_LIMITS, async ({ projectId, id }) => {
      const person = requireFound(await findPerson(db, { projectId, profileId: requireId(id) }))
      return { stream: exportPerson(db, person) }
    }),
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
    const { erasedAt, id: erasureId } = erasure
    await createPersonChanges(marks).announce(identitiesIn(erasure), erasure.profileIds)
    const done = await purge(erasure)
    // The answer is the moment from which on whatever is received is a new person's.
    await sleep(Math.max(0, erasedAt.getTime() + 1 - clock()))
    return { status: 202, body: { id: erasureId, profileId: id, erasedAt, done } }
  }),
]

const identitiesIn = ({ projectId, visitorIds, userIds }: ErasureJob): Identity[] => [
  ...visitorIds.map((value) => ({ projectId, kind: 'visitor' as const, value })),
  ...userIds.map((value) => ({ projectId, kind: 'user' as const, value })),
]

/**
 * Carries out an erasure within the request that asked for it, as far as that goes in time; answers whether nothing is
 * left. The persistence consumer goes on with the rest.
 */
export const createErasurePurge = ({
  log,
  ...stores
}: Pick<Platform, 'db' | 'analytics' | 'cache' | 'deleteMailCopies' | 'log'>) => {
  const purger = createPurger(stores)
  return async (job: ErasureJob): Promise<boolean> => {
    try {
      return await purger.purge(job, AbortSignal.timeout(PURGE_DEADLINE_MS))
    } catch (error) {
      log.warn(
        { err: error, erasure: job.id },
        'Erasure exceeded its request; it continues in the background',
      )
      return false
    }
  }
}

/**
 * Reads whom a profiles request asks for.
 * @throws AppError unprocessable unless that is one user or one visitor
 */
export const parseProfileQuery = ({ userId, visitorId }: ProfileQuery): Omit<Identity, 'projectId'> => {
  if (userId !== undefined && visitorId === undefined) return { kind: 'user', value: userId }
  if (visitorId !== undefined && userId === undefined) return { kind: 'visitor', value: visitorId }
  if (userId === undefined) throw unprocessable('userId', 'required', 'or visitorId is required')
  throw unprocessable('visitorId', 'exclusive', 'cannot be combined with userId')
}
