import type { DayCount } from '@waymark/domain/decision'
import type { Pool } from 'pg'

/** The present person of a profile, when they first ordered, and how often they had events on each day. */
export type PastShopper = {
  asked: string
  profileId: string
  traits: Record<string, unknown>
  firstOrderAt: Date | null
  days: DayCount[]
}

// Traits and the past of a person are read only for rules about the person. Events of Waymark are no orders.
const READ = `
  SELECT p.id AS asked, known.id AS "profileId", CASE WHEN $3 THEN known.traits ELSE '{}' END AS traits,
    CASE WHEN $3 THEN (
      SELECT min(o.occurred_at) FROM ingest.conversions o
      WHERE o.project_id = $1 AND o.profile_id = ANY(merged.ids) AND o.amount > 0
        AND o.event_name NOT IN ('coupon_redeemed', 'gift_card_spent')
    ) END AS "firstOrderAt",
    coalesce((
      SELECT jsonb_agg(jsonb_build_object('event', c.event, 'day', c.day, 'n', c.n + c.earlier))
      FROM decision.profile_event_counts c WHERE c.profile_id = ANY(merged.ids) AND c.event = ANY($4::text[])
    ), '[]') AS days
  FROM ingest.profiles p
  JOIN ingest.profiles known ON known.id = coalesce(p.merged_into, p.id)
  CROSS JOIN LATERAL (
    SELECT ARRAY(SELECT known.id UNION ALL SELECT m.id FROM ingest.profiles m WHERE m.merged_into = known.id) AS ids
  ) merged
  WHERE p.project_id = $1 AND p.id = ANY ($2::uuid[])`

/** The people of profiles after merges, by the id of the profile. `needsPerson`: whether traits and orders are read. */
export const readPastShoppers = async (
  pool: Pool,
  projectId: string,
  profileIds: readonly string[],
  { needsPerson, events }: { needsPerson: boolean; events: readonly string[] },
): Promise<ReadonlyMap<string, PastShopper>> => {
  const { rows } = await pool.query<PastShopper>({
    name: 'read-shoppers-of-backtest',
    text: READ,
    values: [projectId, profileIds, needsPerson, events],
  })
  return new Map(rows.map((one) => [one.asked, one]))
}
