import { AppError } from '@waymark/contracts/app-error'
import { getDemoData, removeDemoData } from '@waymark/contracts/http/projects'
import { createPersonChanges, erasePeople, linkCopyKey } from '@waymark/pipeline'
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

const requireAdded = ({ completedAt, createdAt }: DemoData, now: number): void => {
  if (completedAt === null && now - createdAt.getTime() < ADDING_MS)
    throw new AppError('store_unavailable', 'Demo data is still being added; try again in a few seconds', {
      retryAfterSeconds: RETRY_AFTER_S,
    })
}

/** Resources are archived first, so that no process uses them when they are deleted. This is idempotent. */
const remove = async (
  { db, cache, clock, marks, configChanges, purge }: Omit<ManagementDeps, 'projectRoute'>,
  data: DemoData,
): Promise<void> => {
  const { projectId, visitorIds, userIds } = data
  const codes = await db.transaction((client) => endDemoResources(client, data))
  await configChanges.refresh()
  for (const code of codes) await cache.delete(linkCopyKey(code))

  const job = await erasePeople({ db, now: clock }, { projectId, visitorIds, userIds })
  if (job) {
    await createPersonChanges(marks).announce(identitiesIn(job), job.profileIds)
    // An erasure keeps conversions because their revenue is real. That of the demo is not.
    await deleteConversions(db.pool, projectId, job.profileIds)
    await purge(job)
  }

  await db.transaction((client) => deleteDemoResources(client, data))
  await updateDemoData(db, projectId, { removedAt: new Date(clock()), resources: {} })
}
