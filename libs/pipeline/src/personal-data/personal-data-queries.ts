import { changedProfiles } from '@waymark/contracts/topics'
import type { ClientBase } from 'pg'
import { assignedCouponKeys } from '../coupons/index.ts'
import { personCacheKey } from '../decisions/index.ts'
import type { ErasureJob } from './erasure-job-queries.ts'
import { type PersonEvents, readPersonEvents } from './person-events.ts'
import {
  type PurgeDeps,
  type Purged,
  purgeAnalyticsProfiles,
  purgeDeadLetters,
  purgeEmailDeliveries,
  purgeEvents,
  purgeOldEvents,
  purgeSuppressionDetails,
} from './purge-queries.ts'

/**
 * One kind of stored personal data. Statements may use the parameters `{projectId}`, `{profileIds}`, `{visitorIds}`,
 * `{userIds}`, `{clickIds}` and, to read, `{addresses}` or, to erase, `{erasedAt}`.
 */
export type PersonalData = {
  /** Its name in an export, such as `conversions`. */
  name: string
  /** Selects the data of a person for the export. Columns become members in camel case. */
  read?: string | ((store: PersonEvents, person: PersonParameters) => AsyncIterable<object>)
  /**
   * Deletes or anonymizes about a thousand rows. It is called again until there are none. Rows with a
   * visitor or user id must be limited by `{erasedAt}`, because a new person may have the same id.
   */
  purge?: string | ((deps: PurgeDeps, client: ClientBase, job: ErasureJob) => Promise<Purged>)
  /** Cache keys with data of the person. */
  cacheKeys?: (job: ErasureJob, deps: Pick<PurgeDeps, 'db'>) => string[] | Promise<string[]>
}

/** Whether an event in JSON belongs to the person, by its user id if it has one, else by its visitor id. */
const isAbout = (event: string): string =>
  `(${event}->>'userId' = ANY({userIds}) OR (${event}->>'userId' IS NULL AND ${event}->>'visitorId' = ANY({visitorIds})))`

/** SQL of a redemption in a stored answer without its person. */
const anonymousRedemption = (redemption: string): string => `(${redemption}) - 'items' || jsonb_build_object(
            'profileId', NULL, 'visitorId', NULL, 'userId', NULL, 'orderId', NULL, 'metadata', '{}'::jsonb,
            'relatedEventId', NULL, 'eventId', 'wm:redemption:' || (${redemption}->>'id'))`

/**
 * All personal data that Waymark stores, in the order of exports and erasures. Add every table with visitor, user or
 * profile ids here.
 */
export const personalData: readonly PersonalData[] = [
  {
    name: 'profiles',
    // `eraseProfile` deletes them.
    read: `SELECT id, bucketing_id, user_id, traits, trait_times, first_touch, last_touch, link_touches, merged_into, created_at, updated_at
      FROM ingest.profiles WHERE id = ANY({profileIds}) AND project_id = {projectId} ORDER BY id`,
  },
  { name: 'analyticsProfiles', purge: purgeAnalyticsProfiles },
  {
    name: 'changedProfiles',
    purge: `DELETE FROM ingest.outbox WHERE id IN (
        SELECT id FROM ingest.outbox
        WHERE topic = '${changedProfiles.name}'
          AND key IN (SELECT {projectId}::text || ':' || id::text FROM unnest({profileIds}) AS id) LIMIT 1000)`,
  },
  {
    name: 'identities',
    read: `SELECT kind, value, profile_id, linked_at FROM ingest.identities
      WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) ORDER BY kind, value`,
  },
  {
    name: 'webhookDeliveries',
    read: `SELECT id, webhook_id, topic, payload, status, attempts, created_at, delivered_at FROM webhook.deliveries
      WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    // Before the events, like the clicks.
    purge: `DELETE FROM webhook.deliveries WHERE id IN (
        SELECT id FROM webhook.deliveries WHERE project_id = {projectId} AND profile_id = ANY({profileIds})
        UNION ALL
        SELECT d.id FROM webhook.webhooks w
        JOIN webhook.deliveries d ON d.webhook_id = w.id AND d.topic = 'link.clicked' AND d.message_key = ANY({clickIds})
        WHERE w.project_id = {projectId}
        LIMIT 1000)`,
  },
  {
    name: 'clicks',
    read: `SELECT id, link_id, clicked_at, ip, user_agent, browser, os, device, country, referrer, referrer_host, bot, prefetch,
        variant
      FROM link.clicks WHERE project_id = {projectId} AND id = ANY({clickIds})`,
    // Before the events, which are the only link from a person to clicks.
    purge: `UPDATE link.clicks SET ip = NULL, user_agent = NULL, referrer = NULL WHERE id IN (
        SELECT id FROM link.clicks WHERE project_id = {projectId} AND id = ANY({clickIds})
          AND (ip IS NOT NULL OR user_agent IS NOT NULL OR referrer IS NOT NULL) LIMIT 1000)`,
  },
  {
    name: 'events',
    read: readPersonEvents,
    purge: purgeEvents,
  },
  { name: 'oldEvents', purge: purgeOldEvents },
  {
    name: 'conversions',
    read: `SELECT selector_id, event_id, event_name, amount::float8 AS amount, currency, quantity, visitor_id, user_id,
        profile_id, attribution, occurred_at, received_at
      FROM ingest.conversions WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    // Anonymized, so that revenue does not change.
    purge: `UPDATE ingest.conversions SET event_id = event_key::text, visitor_id = NULL, user_id = NULL, profile_id = NULL,
        attribution = (attribution || '{"clickIds": {}, "referrer": null}')
          #- '{firstLinkTouch,clickId}' #- '{firstLinkTouch,eventId}'
          #- '{lastLinkTouch,clickId}' #- '{lastLinkTouch,eventId}'
      WHERE (project_id, event_key, selector_id) IN (
        SELECT project_id, event_key, selector_id FROM ingest.conversions
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000)`,
  },
  {
    name: 'exposures',
    read: `SELECT decision_id, variant, day::text, reason, rule_id, version, subject, profile_id, exposed_at
      FROM decision.exposures WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    purge: `DELETE FROM decision.exposures WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM decision.exposures
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000))`,
  },
  {
    name: 'eventCounts',
    read: `SELECT event, day::text, n + earlier AS n FROM decision.profile_event_counts WHERE profile_id = ANY({profileIds})`,
    purge: `DELETE FROM decision.profile_event_counts WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM decision.profile_event_counts WHERE profile_id = ANY({profileIds}) LIMIT 1000))`,
    cacheKeys: ({ projectId, visitorIds, userIds }) => [
      ...visitorIds.map((value) => personCacheKey({ projectId, kind: 'visitor', value })),
      ...userIds.map((value) => personCacheKey({ projectId, kind: 'user', value })),
    ],
  },
  {
    name: 'rejectedEvents',
    read: `SELECT id, record, errors, rejected_at, replayed_at FROM ingest.rejected_events
      WHERE project_id = {projectId} AND ${isAbout(`(record->'event')`)}`,
    purge: `DELETE FROM ingest.rejected_events WHERE id IN (
        SELECT id FROM ingest.rejected_events
        WHERE project_id = {projectId} AND rejected_at <= {erasedAt} AND ${isAbout(`(record->'event')`)} LIMIT 1000)`,
  },
  {
    name: 'outbox',
    // Consumers drop records that are published before this. Redemptions are found by their coupon, so this comes before
    // redemptions are anonymized.
    purge: `DELETE FROM ingest.outbox WHERE id IN (
        SELECT id FROM ingest.outbox, LATERAL (SELECT value::jsonb AS record) parsed,
          LATERAL (SELECT coalesce(record->'record', record) AS record) inner_record,
          LATERAL (SELECT coalesce(inner_record.record->'event', inner_record.record) AS event) inner_event
        WHERE key IN (
            SELECT {projectId}::text || ':' || id FROM unnest({visitorIds} || {userIds}) AS id
            UNION ALL
            SELECT {projectId}::text || ':' || coupon_id FROM coupon.redemptions
            WHERE project_id = {projectId} AND profile_id = ANY({profileIds}))
          AND created_at <= {erasedAt} AND (${isAbout('event')}
            OR (inner_record.record->>'kind' = 'identify' AND event->>'visitorId' = ANY({visitorIds})))
        LIMIT 1000)`,
  },
  { name: 'deadLetters', purge: purgeDeadLetters },
  {
    name: 'couponAssignments',
    read: `SELECT a.pool_id, a.profile_id, a.coupon_id, c.code, c.status, a.assigned_at
      FROM coupon.assignments a JOIN coupon.pools p ON p.id = a.pool_id JOIN coupon.coupons c ON c.id = a.coupon_id
      WHERE p.project_id = {projectId} AND a.profile_id = ANY({profileIds})`,
    cacheKeys: assignedCouponKeys,
    // The coupon stays assigned without a profile: no one else gets it, and its code remains valid.
    purge: `WITH gone AS (
        DELETE FROM coupon.assignments WHERE (pool_id, profile_id) IN (
          SELECT a.pool_id, a.profile_id FROM coupon.assignments a JOIN coupon.pools p ON p.id = a.pool_id
          WHERE p.project_id = {projectId} AND a.profile_id = ANY({profileIds}) LIMIT 1000)
        RETURNING coupon_id, profile_id
      ), freed AS (
        UPDATE coupon.coupons c SET assigned_profile_id = NULL FROM gone
        WHERE c.id = gone.coupon_id AND c.assigned_profile_id = gone.profile_id
      )
      SELECT FROM gone`,
  },
  {
    // A copy of the redemption, found by it, because answers to browsers have no profile id. The key stays, so that a
    // repeated request does not redeem again.
    name: 'couponAnswers',
    purge: `UPDATE coupon.idempotency_keys k SET body = anonymized.body::text
      FROM (
        SELECT key, changed.body FROM (
          SELECT key, CASE WHEN status = 200 THEN body::jsonb END AS answer
          FROM coupon.idempotency_keys WHERE project_id = {projectId}) AS answers,
        LATERAL (SELECT CASE WHEN answer ? 'redemption'
          THEN jsonb_set(answer, '{redemption}', ${anonymousRedemption("answer->'redemption'")})
          ELSE jsonb_set(answer - 'items', '{redemptions}', (
            SELECT jsonb_agg(jsonb_set(one.value, '{redemption}', ${anonymousRedemption("one.value->'redemption'")})
              ORDER BY one.index)
            FROM jsonb_array_elements(answer->'redemptions') WITH ORDINALITY AS one (value, index)))
          END AS body) AS changed
        WHERE coalesce(answer #>> '{redemption,id}', answer #>> '{redemptions,0,redemption,id}') IN (
          SELECT id::text FROM coupon.redemptions
          WHERE project_id = {projectId} AND profile_id = ANY({profileIds})) AND answer <> changed.body
        LIMIT 1000
      ) AS anonymized
      WHERE k.project_id = {projectId} AND k.key = anonymized.key`,
  },
  {
    name: 'redemptions',
    read: `SELECT id, pool_id, coupon_id, profile_id, visitor_id, user_id, order_id, amount::float8 AS amount, currency,
        event_id, metadata, redeemed_at, rolled_back_at, rollback_reason, discount_amount::float8 AS discount_amount,
        shipping_discount_amount::float8 AS shipping_discount_amount, items,
        rolled_back_amount::float8 AS rolled_back_amount
      FROM coupon.redemptions WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    // Anonymized, so that counts and budgets do not change. An order id identifies a person, and items say what it bought.
    purge: `UPDATE coupon.redemptions SET profile_id = NULL, visitor_id = NULL, user_id = NULL, order_id = NULL,
        event_id = 'wm:redemption:' || id, metadata = '{}', rollback_reason = NULL, items = NULL
      WHERE id IN (
        SELECT id FROM coupon.redemptions
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000)`,
  },
  {
    name: 'couponAttempts',
    read: `SELECT id, coupon_id, reason, profile_id, visitor_id, user_id, order_id, attempted_at
      FROM coupon.attempts WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    purge: `DELETE FROM coupon.attempts WHERE id IN (
        SELECT id FROM coupon.attempts
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000)`,
  },
  {
    name: 'couponHolds',
    read: `SELECT id, profile_id, visitor_id, user_id, cart, created_at, expires_at FROM coupon.holds
      WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    // Ended and not deleted: the coupon service returns what a hold reserves when it removes the row.
    purge: `UPDATE coupon.holds SET profile_id = NULL, visitor_id = NULL, user_id = NULL, cart = '{}', expires_at = created_at
      WHERE id IN (
        SELECT id FROM coupon.holds
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000)`,
  },
  {
    // As `couponAnswers`, of payments with gift cards.
    name: 'giftCardAnswers',
    purge: `UPDATE coupon.idempotency_keys k SET body = anonymized.body::text
      FROM (
        SELECT key, changed.body FROM (
          SELECT key, CASE WHEN status = 200 THEN body::jsonb END AS answer
          FROM coupon.idempotency_keys WHERE project_id = {projectId}) AS answers,
        LATERAL (SELECT CASE WHEN answer ? 'payment' THEN jsonb_set(answer, '{payment,orderId}', 'null')
          ELSE jsonb_set(answer - 'items', '{payments}', (
            SELECT jsonb_agg(one.value || '{"orderId": null}' ORDER BY one.index)
            FROM jsonb_array_elements(answer->'payments') WITH ORDINALITY AS one (value, index)))
          END AS body) AS changed
        WHERE jsonb_path_query_array(answer, '$.**.movementId') ?| ARRAY(
            SELECT id::text FROM coupon.card_movements
            WHERE project_id = {projectId} AND profile_id = ANY({profileIds}))
          AND answer <> changed.body
        LIMIT 1000
      ) AS anonymized
      WHERE k.project_id = {projectId} AND k.key = anonymized.key`,
  },
  {
    name: 'cardMovements',
    read: `SELECT id, kind, order_id, profile_id, visitor_id, user_id, reason, created_at FROM coupon.card_movements
      WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    // The entries stay, so that every sum of the ledger does. Refunds of the order have its id and no person.
    purge: `WITH found AS (
        SELECT id, order_id FROM coupon.card_movements
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000)
      UPDATE coupon.card_movements SET profile_id = NULL, visitor_id = NULL, user_id = NULL, order_id = NULL, reason = NULL
      WHERE project_id = {projectId} AND (id IN (SELECT id FROM found)
        OR order_id IN (SELECT order_id FROM found WHERE order_id IS NOT NULL))`,
  },
  {
    // As `couponAnswers`, of requests that spend points and redeem no coupon.
    name: 'pointAnswers',
    purge: `UPDATE coupon.idempotency_keys k SET body = (k.body::jsonb - 'items')::text
      WHERE k.project_id = {projectId} AND k.key IN (
        SELECT key FROM (
          SELECT key, CASE WHEN status = 200 THEN body::jsonb END AS answer
          FROM coupon.idempotency_keys WHERE project_id = {projectId}) AS answers
        WHERE answer ? 'items' AND answer #>> '{points,movementId}' IN (
          SELECT e.movement_id::text FROM coupon.point_accounts a JOIN coupon.point_entries e ON e.account_id = a.id
          WHERE a.project_id = {projectId} AND a.profile_id = ANY({profileIds}))
        LIMIT 1000)`,
  },
  {
    name: 'pointMovements',
    read: `SELECT m.id, l.key AS programme, m.kind, (
          SELECT sum(e.points)::float8 FROM coupon.point_entries e
          WHERE e.movement_id = m.id AND e.account_id = a.id AND e.account = 'person'
        ) AS points, m.order_id, m.amount::float8 AS amount, m.currency, m.reason, m.occurred_at, m.expires_at
      FROM coupon.point_accounts a
      JOIN coupon.point_movements m ON m.id IN (
        SELECT movement_id FROM coupon.point_entries WHERE account_id = a.id)
      JOIN coupon.loyalty_programmes l ON l.id = a.programme_id
      WHERE a.project_id = {projectId} AND a.profile_id = ANY({profileIds}) ORDER BY m.id`,
    // The entries stay, so that every sum of the ledger does. Before the accounts, by which they are found.
    purge: `UPDATE coupon.point_movements SET order_id = NULL, reason = NULL WHERE id IN (
        SELECT m.id FROM coupon.point_accounts a
        JOIN coupon.point_entries e ON e.account_id = a.id JOIN coupon.point_movements m ON m.id = e.movement_id
        WHERE a.project_id = {projectId} AND a.profile_id = ANY({profileIds})
          AND (m.order_id IS NOT NULL OR m.reason IS NOT NULL) LIMIT 1000)`,
  },
  {
    name: 'pointAccounts',
    read: `SELECT a.id, l.key AS programme, a.profile_id, a.balance::float8 AS balance, a.earned::float8 AS earned, a.created_at
      FROM coupon.point_accounts a JOIN coupon.loyalty_programmes l ON l.id = a.programme_id
      WHERE a.project_id = {projectId} AND a.profile_id = ANY({profileIds})`,
    purge: `UPDATE coupon.point_accounts SET profile_id = NULL WHERE id IN (
        SELECT id FROM coupon.point_accounts
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000)`,
  },
  {
    name: 'couponCounts',
    read: `SELECT n.pool_id, n.profile_id, n.redeemed, n.held
      FROM coupon.profile_counts n JOIN coupon.pools p ON p.id = n.pool_id
      WHERE p.project_id = {projectId} AND n.profile_id = ANY({profileIds})`,
    purge: `DELETE FROM coupon.profile_counts WHERE (pool_id, profile_id) IN (
        SELECT n.pool_id, n.profile_id FROM coupon.profile_counts n JOIN coupon.pools p ON p.id = n.pool_id
        WHERE p.project_id = {projectId} AND n.profile_id = ANY({profileIds}) LIMIT 1000)`,
  },
  {
    // Kept, because otherwise the person would get emails again. Before the deliveries, by which it is found.
    name: 'emailSuppressions',
    read: `SELECT id, address, reason, detail, created_at FROM email.suppressions
      WHERE project_id = {projectId} AND address = ANY({addresses})`,
    purge: purgeSuppressionDetails,
  },
  {
    name: 'emailDeliveries',
    read: `SELECT id, trigger_id, event_id, profile_id, recipient, status, reason, attempts, context, created_at, sent_at
      FROM email.deliveries WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    purge: purgeEmailDeliveries,
  },
  {
    name: 'emailCooldowns',
    read: `SELECT c.trigger_id, c.profile_id, c.started_at FROM email.cooldowns c JOIN email.triggers t ON t.id = c.trigger_id
      WHERE t.project_id = {projectId} AND c.profile_id = ANY({profileIds})`,
    purge: `DELETE FROM email.cooldowns WHERE (trigger_id, profile_id) IN (
        SELECT c.trigger_id, c.profile_id FROM email.cooldowns c JOIN email.triggers t ON t.id = c.trigger_id
        WHERE t.project_id = {projectId} AND c.profile_id = ANY({profileIds}) LIMIT 1000)`,
  },
]

/** The parameters of statements on personal data. */
export type PersonParameters = Omit<ErasureJob, 'id'> & {
  /** Of clicks that led to events of the person. */
  clickIds?: string[]
  /** Of their profiles and of emails to them, in canonical form. Erasures read them where they need them. */
  addresses?: string[]
}

const TYPES = {
  projectId: 'uuid',
  profileIds: 'uuid[]',
  visitorIds: 'text[]',
  userIds: 'text[]',
  addresses: 'text[]',
  clickIds: 'uuid[]',
  erasedAt: 'timestamptz',
} as const

/** Replaces `{projectId}` and the others by typed parameters. */
export const bindPerson = (text: string, person: PersonParameters): { text: string; values: unknown[] } => {
  const values: unknown[] = []
  const placeholders = new Map<string, string>()
  const bound = text.replace(
    /\{(projectId|profileIds|visitorIds|userIds|addresses|clickIds|erasedAt)\}/g,
    (_, name: keyof typeof TYPES) => {
      const placeholder = placeholders.get(name) ?? `$${values.push(person[name])}::${TYPES[name]}`
      placeholders.set(name, placeholder)
      return placeholder
    },
  )
  return { text: bound, values }
}
