import { type DemoData, demoResourceIds } from '@waymark/project-config'
import type { ClientBase } from 'pg'

const END_LINKS = `
  UPDATE link.links SET status = 'archived', updated_at = now() WHERE id = ANY($1::uuid[]) RETURNING code`
const END_SELECTORS = `
  UPDATE core.metering_selectors SET archived_at = now() WHERE id = ANY($1::uuid[]) AND archived_at IS NULL`
const ADD_CHANGE = 'INSERT INTO core.config_changes (project_id) VALUES ($1)'

/** Archives the links and metering selectors of demo data. Resolves to the codes of the links. */
export const endDemoResources = async (client: ClientBase, data: DemoData): Promise<string[]> => {
  const { rows } = await client.query<{ code: string }>(END_LINKS, [demoResourceIds(data, 'link')])
  await client.query(END_SELECTORS, [demoResourceIds(data, 'meteringSelector')])
  await client.query(ADD_CHANGE, [data.projectId])
  return rows.map(({ code }) => code)
}

/** Statements that delete demo data by the kind of its resource. `$1` is the ids of the resources. */
const DELETE_RESOURCES = [
  ['link', 'DELETE FROM link.clicks WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.counts WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_visitors WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_counts WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_breakdowns WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_conversions WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.daily_variant_conversions WHERE link_id = ANY($1::uuid[])'],
  ['link', 'DELETE FROM link.links WHERE id = ANY($1::uuid[])'],
  [
    'pool',
    `DELETE FROM coupon.attempts WHERE coupon_id = ANY($1::uuid[])
      OR coupon_id IN (SELECT id FROM coupon.coupons WHERE pool_id = ANY($1::uuid[]))`,
  ],
  ['pool', 'DELETE FROM coupon.redemptions WHERE pool_id = ANY($1::uuid[])'],
  ['pool', 'DELETE FROM coupon.assignments WHERE pool_id = ANY($1::uuid[])'],
  ['pool', 'DELETE FROM coupon.profile_counts WHERE pool_id = ANY($1::uuid[])'],
  // The ledger is append-only for everybody else.
  ['pool', `SELECT set_config('waymark.removes_demo_data', 'on', true) WHERE cardinality($1::uuid[]) >= 0`],
  ['pool', 'DELETE FROM coupon.card_balances WHERE pool_id = ANY($1::uuid[])'],
  // A transfer to or from a card of another pool stays, because it is a part of that card's balance.
  [
    'pool',
    `WITH removed AS (
      DELETE FROM coupon.card_entries e WHERE pool_id = ANY($1::uuid[]) AND NOT EXISTS (
        SELECT FROM coupon.card_entries other
        WHERE other.movement_id = e.movement_id AND NOT other.pool_id = ANY($1::uuid[]))
      RETURNING movement_id
    )
    DELETE FROM coupon.card_movements WHERE id IN (SELECT movement_id FROM removed)`,
  ],
  ['pool', 'DELETE FROM coupon.coupons WHERE pool_id = ANY($1::uuid[])'],
  ['pool', 'DELETE FROM coupon.pools WHERE id = ANY($1::uuid[])'],
  [
    'loyaltyProgramme',
    'DELETE FROM coupon.point_lots WHERE account_id IN (SELECT id FROM coupon.point_accounts WHERE programme_id = ANY($1::uuid[]))',
  ],
  ['loyaltyProgramme', 'DELETE FROM coupon.point_entries WHERE programme_id = ANY($1::uuid[])'],
  ['loyaltyProgramme', 'DELETE FROM coupon.point_movements WHERE programme_id = ANY($1::uuid[])'],
  ['loyaltyProgramme', 'DELETE FROM coupon.point_accounts WHERE programme_id = ANY($1::uuid[])'],
  ['loyaltyProgramme', 'DELETE FROM coupon.loyalty_programmes WHERE id = ANY($1::uuid[])'],
  ['decision', 'DELETE FROM decision.exposures WHERE decision_id = ANY($1::uuid[])'],
  ['decision', 'DELETE FROM decision.decisions WHERE id = ANY($1::uuid[])'],
  ['emailTrigger', 'DELETE FROM email.triggers WHERE id = ANY($1::uuid[])'],
  ['suppression', 'DELETE FROM email.suppressions WHERE id = ANY($1::uuid[])'],
  ['eventDefinition', 'DELETE FROM core.event_definitions WHERE id = ANY($1::uuid[])'],
  ['dashboard', 'DELETE FROM core.dashboards WHERE id = ANY($1::uuid[])'],
  [
    'insight',
    `UPDATE core.dashboards SET version = version + 1, updated_at = now(),
      insight_ids = ARRAY(SELECT id FROM unnest(insight_ids) WITH ORDINALITY AS kept (id, position)
        WHERE NOT id = ANY($1::uuid[]) ORDER BY position)
    WHERE insight_ids && $1::uuid[]`,
  ],
  ['insight', 'DELETE FROM core.alerts WHERE insight_id = ANY($1::uuid[])'],
  ['insight', 'DELETE FROM core.insights WHERE id = ANY($1::uuid[])'],
] as const

const FORGET_LINKS = 'UPDATE link.project_counts SET links = links - $2 WHERE project_id = $1'

/** Deletes the resources of demo data. It is idempotent. */
export const deleteDemoResources = async (client: ClientBase, data: DemoData): Promise<void> => {
  const { projectId } = data
  for (const [kind, text] of DELETE_RESOURCES) {
    const { rowCount } = await client.query(text, [demoResourceIds(data, kind)])
    if (text.startsWith('DELETE FROM link.links')) await client.query(FORGET_LINKS, [projectId, rowCount])
  }
  await client.query('UPDATE core.projects SET version = version + 1 WHERE id = $1', [projectId])
  await client.query(ADD_CHANGE, [projectId])
}

const DELETE_CONVERSIONS = `
  DELETE FROM ingest.conversions WHERE project_id = $1 AND profile_id IN (
    SELECT id FROM ingest.profiles WHERE project_id = $1 AND (id = $2 OR merged_into = $2))`

/** Deletes the conversions of a profile and of those that were merged into it. */
export const deleteConversions = async (
  client: ClientBase,
  projectId: string,
  profileId: string,
): Promise<void> => {
  await client.query(DELETE_CONVERSIONS, [projectId, profileId])
}
