import { AppError, getDemoData, removeDemoData } from '@waymark/contracts'
import { createPersonChanges, erasePeople, linkCopyKey } from '@waymark/pipeline'
import { type DemoData, demoResourceIds, findDemoData, updateDemoData } from '@waymark/project-config'
import type { Route } from '@waymark/service-kit'
import type { ManagementDeps } from '../management-deps.ts'
import { identitiesIn } from '../profiles/profiles.ts'

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

const END_RESOURCES = [
  `UPDATE link.links SET status = 'archived', updated_at = now() WHERE id = ANY($1::uuid[]) RETURNING code`,
  `UPDATE core.metering_selectors SET archived_at = now() WHERE id = ANY($1::uuid[]) AND archived_at IS NULL`,
] as const

/** Statements that delete demo data by the kind of its resource. `$1` is the ids of the resources. */
const DELETE_RESOURCES = [
  ['link', 'DELETE FROM link.clicks WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.counts WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_visitors WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_counts WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_breakdowns WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_conversions WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.links WHERE id = ANY($1::uuid[])'],
  [
    'pool',
    `DELETE FROM coupon.attempts WHERE coupon_id IN (SELECT id FROM coupon.coupons WHERE pool_id = ANY($1::uuid[]))`,
  ],
  ['pool', 'DELETE FROM coupon.redemptions WHERE pool_id = ANY($1::uuid[])'],
  ['pool', 'DELETE FROM coupon.assignments WHERE pool_id = ANY($1::uuid[])'],
  ['pool', 'DELETE FROM coupon.profile_counts WHERE pool_id = ANY($1::uuid[])'],
  ['pool', 'DELETE FROM coupon.coupons WHERE pool_id = ANY($1::uuid[])'],
  ['pool', 'DELETE FROM coupon.pools WHERE id = ANY($1::uuid[])'],
  ['decision', 'DELETE FROM decision.exposures WHERE decision_id = ANY($1::uuid[])'],
  ['decision', 'DELETE FROM decision.decisions WHERE id = ANY($1::uuid[])'],
  ['emailTrigger', 'DELETE FROM email.triggers WHERE id = ANY($1::uuid[])'],
  ['suppression', 'DELETE FROM email.suppressions WHERE id = ANY($1::uuid[])'],
  ['eventDefinition', 'DELETE FROM core.event_definitions WHERE id = ANY($1::uuid[])'],
  ['dashboard', 'DELETE FROM core.dashboards WHERE id = ANY($1::uuid[])'],
  [
    'insight',
    `UPDATE core.dashboards SET version = version + 1, updated_at = now(),
      insight_ids = ARRAY(SELECT id FROM unnest(insight_ids) WITH ORDINALITY AS kept (id, place)
        WHERE NOT id = ANY($1::uuid[]) ORDER BY place)
    WHERE insight_ids && $1::uuid[]`,
  ],
  ['insight', 'DELETE FROM core.insights WHERE id = ANY($1::uuid[])'],
] as const

const FORGET_LINKS = 'UPDATE link.project_counts SET links = links - $2 WHERE project_id = $1'
const DELETE_CONVERSIONS =
  'DELETE FROM ingest.conversions WHERE project_id = $1 AND profile_id = ANY($2::uuid[])'

/** Resources are archived first, so that no process uses them when they are deleted. This is idempotent. */
const remove = async (
  { db, cache, clock, marks, configChanges, purge }: Omit<ManagementDeps, 'projectRoute'>,
  data: DemoData,
): Promise<void> => {
  const { projectId, visitorIds, userIds } = data
  const [endLinks, endSelectors] = END_RESOURCES
  const ended = await db.transaction(async (client) => {
    const { rows } = await client.query<{ code: string }>(endLinks, [demoResourceIds(data, 'link')])
    await client.query(endSelectors, [demoResourceIds(data, 'meteringSelector')])
    await client.query('INSERT INTO core.config_changes (project_id) VALUES ($1)', [projectId])
    return rows
  })
  await configChanges.refresh()
  for (const { code } of ended) await cache.delete(linkCopyKey(code))

  const job = await erasePeople({ db, now: clock }, { projectId, visitorIds, userIds })
  if (job) {
    await createPersonChanges(marks).announce(identitiesIn(job), job.profileIds)
    // An erasure keeps conversions because their revenue is real. That of the demo is not.
    await db.pool.query(DELETE_CONVERSIONS, [projectId, job.profileIds])
    await purge(job)
  }

  await db.transaction(async (client) => {
    for (const [kind, text] of DELETE_RESOURCES) {
      const { rowCount } = await client.query(text, [demoResourceIds(data, kind)])
      if (text.startsWith('DELETE FROM link.links')) await client.query(FORGET_LINKS, [projectId, rowCount])
    }
    await client.query('UPDATE core.projects SET version = version + 1 WHERE id = $1', [projectId])
    await client.query('INSERT INTO core.config_changes (project_id) VALUES ($1)', [projectId])
  })
  await updateDemoData(db, projectId, { removedAt: new Date(clock()), resources: {} })
}
