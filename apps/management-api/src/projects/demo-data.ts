import { AppError } from '@waymark/contracts/app-error'
import { getDemoData, removeDemoData } from '@waymark/contracts/http/projects'
import { createPersonChanges, erasePeople, hasErasureJobs, linkCopyKey } from '@waymark/pipeline'
import { type DemoData, findDemoData, updateDemoData } from '@waymark/project-config'
import type { Route } from '@waymark/service-kit'
import type { ManagementDeps } from '../management-deps.ts'
import { identitiesIn } from '../profiles/profiles.ts'
import { deleteConversions, deleteDemoResources, endDemoResources } from './demo-data-queries.ts'

/** The demo data of a project: its state and its removal. */
export const demoDataRoutes = ({ projectRoute, ...deps }: ManagementDeps): Route[] => [
  projectRoute(getDemoData, async ({ projectId }) => {
    const data = await findDemoData(deps.db, projectId)
    return { body: { present: isPresent(data), createdAt: data?.createdAt ?? null } }
  }),
  projectRoute(removeDemoData, async ({ projectId, requireMatch }) => {
    const data = await findDemoData(deps.db, projectId)
    requireMatch({ present: isPresent(data), createdAt: data?.createdAt ?? null })
    if (data && isPresent(data)) {
      requireAdded(data, deps.clock())
      await remove(deps, data)
    }
    return { status: 204 }
  }),
]

const isPresent = (data: DemoData | undefined): boolean => data !== undefined && data.removedAt === null

/** Maximum duration of adding demo data, in ms. After that it counts as interrupted. */
const ADDING_MS = 60_000
const RETRY_AFTER_S = 5
/** How long the data of the people is removed within the request, in ms: less than `LONG_REQUEST_DEADLINE_MS`. */
const PURGE_DEADLINE_MS = 25_000

const requireAdded = ({ completedAt, createdAt }: DemoData, now: number): void => {
  if (completedAt === null && now - createdAt.getTime() < ADDING_MS) throw busy('added')
}

const busy = (what: 'added' | 'removed'): AppError =>
  new AppError('store_unavailable', `Demo data is still being ${what}; try again in a few seconds`, {
    retryAfterSeconds: RETRY_AFTER_S,
  })

/** Resources are archived first, so that no process uses them when they are deleted. This is idempotent. */
const remove = async (
  { db, cache, clock, marks, configChanges, purge }: Omit<ManagementDeps, 'projectRoute'>,
  data: DemoData,
): Promise<void> => {
  const { projectId, visitorIds, userIds } = data
  const codes = await db.transaction((client) => endDemoResources(client, data))
  await configChanges.refresh()
  for (const code of codes) await cache.delete(linkCopyKey(code))

  const job = await erasePeople(
    { db, now: clock },
    {
      projectId,
      visitorIds,
      userIds,
      // An erasure keeps conversions because their revenue is real. That of the demo is not.
      confirm: (client, profileId) => deleteConversions(client, projectId, profileId),
    },
  )
  if (job) await createPersonChanges(marks).announce(identitiesIn(job), job.profileIds)
  // The job of an earlier attempt may be unfinished.
  const isPurged = job ? await purge(job, PURGE_DEADLINE_MS) : !(await hasErasureJobs(db.pool, projectId))
  if (!isPurged) throw busy('removed')

  await db.transaction((client) => deleteDemoResources(client, data))
  await updateDemoData(db, projectId, { removedAt: new Date(clock()), resources: {} })
}
