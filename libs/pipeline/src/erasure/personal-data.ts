import type { ClientBase } from 'pg'
import { personCacheKey } from '../decisions/find-people.ts'
import type { ErasureJob, PurgeDeps } from './erasure-job.ts'
import { purgeDeadLetters } from './purge-dead-letters.ts'
import { purgeEvents } from './purge-events.ts'

/**
 * One kind of personal data that is stored. Statements may use `{projectId}`, `{profileIds}`, `{visitorIds}`, `{userIds}`
 * and, when they erase, `{erasedAt}`; these are bound as parameters.
 */
export type PersonalData = {
  /** What it is called in an export, such as `conversions`. */
  name: string
  /** Selects what there is of a person, for the export; columns become members, in camel case. */
  read?: string
  /**
   * Takes away, or makes anonymous, some thousand rows of it and no more; answers how many, and is called again until
   * that is 0. What is known by profile needs no `{erasedAt}`; what is known by visitor or user id does, since a new person
   * may have the same id.
   */
  purge?: string | ((deps: PurgeDeps, client: ClientBase, job: ErasureJob) => Promise<number>)
  /** Keys of the cache that hold something of the person. */
  cacheKeys?: (job: ErasureJob) => string[]
}

/** Whether an event's JSON, with its ids as text, is about the person: the user if one is named, else the visitor. */
const isAbout = (event: string): string =>
  `(${event}->>'userId' = ANY({userIds}) OR (${event}->>'userId' IS NULL AND ${event}->>'visitorId' = ANY({visitorIds})))`

/**
 * Everything that Waymark stores of people, in the order in which it is exported and erased. Whoever adds a table with
 * visitor, user or profile ids adds it here.
 */
export const personalData: readonly PersonalData[] = [
  {
    name: 'profiles',
    // Erased together with the erasure itself.
    read: `SELECT id, bucketing_id, user_id, traits, trait_times, first_touch, last_touch, merged_into, created_at, updated_at
      FROM ingest.profiles WHERE id = ANY({profileIds}) AND project_id = {projectId} ORDER BY id`,
  },
  {
    name: 'identities',
    read: `SELECT kind, value, profile_id, linked_at FROM ingest.identities
      WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) ORDER BY kind, value`,
  },
  {
    name: 'events',
    read: `SELECT event_id, event_name, visitor_id, user_id, session_id, properties, client_timestamp, received_at,
        "timestamp", profile_id, short_link_id, short_link_code, click_ids, warnings, context
      FROM ingest.events WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    purge: purgeEvents,
  },
  {
    name: 'conversions',
    read: `SELECT selector_id, event_id, event_name, amount::float8 AS amount, currency, quantity, visitor_id, user_id,
        profile_id, attribution, occurred_at, received_at
      FROM ingest.conversions WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    // Revenue stays what it was; whose it was is not known any more.
    purge: `UPDATE ingest.conversions SET event_id = event_key::text, visitor_id = NULL, user_id = NULL, profile_id = NULL,
        attribution = attribution || '{"clickIds": {}, "referrer": null}'
      WHERE (project_id, event_key, selector_id) IN (
        SELECT project_id, event_key, selector_id FROM ingest.conversions
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000)`,
  },
  {
    name: 'exposures',
    read: `SELECT decision_id, variant, day, reason, rule_id, version, subject, profile_id, exposed_at
      FROM decision.exposures WHERE project_id = {projectId} AND profile_id = ANY({profileIds})`,
    purge: `DELETE FROM decision.exposures WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM decision.exposures
        WHERE project_id = {projectId} AND profile_id = ANY({profileIds}) LIMIT 1000))`,
  },
  {
    name: 'eventCounts',
    read: `SELECT event, day, n FROM decision.profile_event_counts WHERE profile_id = ANY({profileIds})`,
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
    // What is published before this comes to it is dropped by whoever reads it.
    purge: `DELETE FROM ingest.outbox WHERE id IN (
        SELECT id FROM ingest.outbox, LATERAL (SELECT value::jsonb AS record) parsed,
          LATERAL (SELECT coalesce(record->'record', record) AS record) inner_record,
          LATERAL (SELECT coalesce(inner_record.record->'event', inner_record.record) AS event) told
        WHERE key IN (SELECT {projectId}::text || ':' || id FROM unnest({visitorIds} || {userIds}) AS id)
          AND created_at <= {erasedAt} AND (${isAbout('event')}
            OR (inner_record.record->>'kind' = 'identify' AND event->>'visitorId' = ANY({visitorIds})))
        LIMIT 1000)`,
  },
  { name: 'deadLetters', purge: purgeDeadLetters },
]
