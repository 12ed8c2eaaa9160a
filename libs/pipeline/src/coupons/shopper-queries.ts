import {
  createSegmentLookup,
  type DayCount,
  MAX_COUNT_DAYS,
  type SegmentSet,
  segmentsIn,
} from '@waymark/domain/decision'
import type { ClientBase, Pool } from 'pg'

/** The person of a cart by their id, the user's first. */
export type ShopperRef = { projectId: string; userId: string | null; visitorId: string | null }

/** A person. `profileIds` are those of the profile and of all that were merged into it. */
export type Shopper = {
  traits: Record<string, unknown>
  hasOrdered: boolean
  profileIds: string[]
  segments?: ReturnType<typeof createSegmentLookup>
}

// Events of Waymark are no orders.
const FIND = `
  SELECT p.traits, merged.ids AS "profileIds", EXISTS (
      SELECT FROM ingest.conversions o
      WHERE o.project_id = p.project_id AND o.profile_id = ANY(merged.ids) AND o.amount > 0
        AND o.event_name NOT IN ('coupon_redeemed', 'gift_card_spent')
    ) AS "hasOrdered"
  FROM ingest.identities i
  JOIN ingest.profiles p ON p.id = i.profile_id
  CROSS JOIN LATERAL (
    SELECT ARRAY(SELECT p.id UNION ALL SELECT m.id FROM ingest.profiles m WHERE m.merged_into = p.id) AS ids
  ) merged
  WHERE i.project_id = $1 AND i.kind = $2 AND i.value = $3`

/** A person who has no profile yet. */
const NEW_SHOPPER: Shopper = { traits: {}, hasOrdered: false, profileIds: [] }

/**
 * The person of a cart; undefined when a request names none. A person without a profile has no traits, and none is
 * created.
 */
export const findShopper = async (
  db: Pool | ClientBase,
  { projectId, userId, visitorId }: ShopperRef,
): Promise<Shopper | undefined> => {
  if (userId === null && visitorId === null) return undefined
  const values = userId === null ? [projectId, 'visitor', visitorId] : [projectId, 'user', userId]
  const { rows } = await db.query<Shopper>({ name: 'find-shopper', text: FIND, values })
  return rows[0] ?? NEW_SHOPPER
}

const DAYS = `
  SELECT event, day::text, n + earlier AS n FROM decision.profile_event_counts
  WHERE profile_id = ANY($1::uuid[]) AND event = ANY($2::text[])
    AND day > (now() AT TIME ZONE 'UTC')::date - ${MAX_COUNT_DAYS}`

/**
 * A person with the segments that conditions of coupons refer to, at `now` (ms since the epoch). Reads what they count;
 * nothing where no condition refers to one.
 */
export const withSegments = async (
  db: Pool | ClientBase,
  shopper: Shopper | undefined,
  conditions: readonly unknown[],
  { segments, now }: { segments: SegmentSet; now: number },
): Promise<Shopper | undefined> => {
  const keys = new Set(conditions.flatMap(segmentsIn))
  if (!shopper || keys.size === 0) return shopper
  const events = [...new Set([...keys].flatMap((key) => segments.eventsOf(key)))]
  const { rows: days } =
    events.length === 0
      ? { rows: [] }
      : await db.query<DayCount>({
          name: 'days-of-shopper',
          text: DAYS,
          values: [shopper.profileIds, events],
        })
  return { ...shopper, segments: createSegmentLookup(segments, { traits: shopper.traits, days, now }) }
}

const COUNTS = `
  SELECT pool_id, sum(uses)::int AS uses FROM (
    SELECT pool_id, redeemed AS uses FROM coupon.profile_counts
    WHERE pool_id = ANY($1::uuid[]) AND profile_id = ANY($2::uuid[])
    UNION ALL
    SELECT i.pool_id, 1 FROM coupon.holds h JOIN coupon.hold_items i ON i.hold_id = h.id
    WHERE h.profile_id = ANY($2::uuid[]) AND h.expires_at > $3 AND h.id IS DISTINCT FROM $4::uuid
      AND i.pool_id = ANY($1::uuid[])
  ) AS used GROUP BY pool_id`

/**
 * How often a person has redeemed or holds coupons of pools at `at`, by the id of the pool. `replacedId`: a hold that does
 * not count.
 */
export const countsOfShopper = async (
  db: Pool | ClientBase,
  poolIds: readonly string[],
  { profileIds }: Shopper,
  { at, replacedId = null }: { at: Date; replacedId?: string | null },
): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await db.query<{ pool_id: string; uses: number }>({
    name: 'counts-of-shopper',
    text: COUNTS,
    values: [poolIds, profileIds, at, replacedId],
  })
  return new Map(rows.map(({ pool_id, uses }) => [pool_id, uses]))
}
