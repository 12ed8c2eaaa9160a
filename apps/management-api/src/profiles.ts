import { finished } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AppError,
  eraseProfile,
  exportProfile,
  getProfile,
  getProfileTimeline,
  listProfiles,
  type ProfileQuery,
} from '@waymark/contracts'
import type { Identity } from '@waymark/domain'
import { type ErasureJob, eraseProfile as erase, exportPerson, findPerson } from '@waymark/pipeline'
import type { Platform, Route } from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import { findProfileOf, readProfile } from './find-profile.ts'
import { listTimeline } from './list-timeline.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

/** Each export holds a connection for as long as its reader takes. */
const MAX_EXPORTS = 2
const EXPORT_RETRY_S = 10

type Deps = Pick<Platform, 'db' | 'clock'> & {
  projectRoute: ProjectRouteFactory
  /** Takes what is stored of an erased person out of the stores; answers whether nothing is left. */
  purge: (job: ErasureJob) => Promise<boolean>
}

/** People: who they are, what they did, all that is stored of them, and that it is erased. */
export const profileRoutes = ({ projectRoute, db, clock, purge }: Deps): Route[] => [
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
  limitExports(
    projectRoute(exportProfile, async ({ projectId, id }) => {
      const person = requireFound(await findPerson(db, { projectId, profileId: requireId(id) }))
      return { stream: { type: 'application/json', text: exportPerson(db, person) } }
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
    const { erasedAt, id: erasureId } = requireFound(job)
    const done = await purge(requireFound(job))
    // The answer is the moment from which on whatever is received is a new person's.
    await sleep(Math.max(0, erasedAt.getTime() + 1 - clock()))
    return { status: 202, body: { id: erasureId, profileId: id, erasedAt, done } }
  }),
]

/** Lets those who may export make two exports at a time; one counts until its answer has ended, whichever way. */
const limitExports = (route: Route): Route => {
  let exports = 0
  const count: RequestHandler = (_req, res, next) => {
    if (exports >= MAX_EXPORTS) {
      throw new AppError('rate_limited', 'Too many exports at a time', { retryAfterSeconds: EXPORT_RETRY_S })
    }
    exports++
    finished(res, () => exports--)
    next()
  }
  return { ...route, handlers: route.handlers.toSpliced(-1, 0, count) }
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
