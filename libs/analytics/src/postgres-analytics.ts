import type { EnrichedEvent } from '@waymark/contracts'
import { type BulkColumn, bulkColumns } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain'
import type { Pool } from 'pg'
import type { Analytics } from './port.ts'
import { measure } from './postgres-measure.ts'

/** What is kept of an event for statistics: the columns that are filtered, grouped by and added up. */
const columnList: BulkColumn<EnrichedEvent>[] = [
  { name: 'project_id', type: 'uuid', of: (event) => event.projectId },
  { name: 'event_key', type: 'uuid', of: (event) => eventKeyOf(event.eventId) },
  { name: 'event_name', type: 'text', of: (event) => event.eventName },
  { name: 'visitor_id', type: 'text', of: (event) => event.visitorId },
  { name: 'user_id', type: 'text', of: (event) => event.userId },
  { name: 'profile_id', type: 'uuid', of: (event) => event.profileId },
  { name: 'session_id', type: 'text', of: (event) => event.sessionId },
  { name: 'timestamp', type: 'timestamptz', of: (event) => event.timestamp },
  { name: 'received_at', type: 'timestamptz', of: (event) => event.receivedAt },
  { name: 'bot', type: 'boolean', of: (event) => event.context.bot },
  { name: 'browser', type: 'text', of: (event) => event.context.browser },
  { name: 'os', type: 'text', of: (event) => event.context.os },
  { name: 'device', type: 'text', of: (event) => event.context.device },
  { name: 'country', type: 'text', of: (event) => event.context.country },
  { name: 'city', type: 'text', of: (event) => event.context.city },
  { name: 'path', type: 'text', of: (event) => event.context.path },
  { name: 'referrer_host', type: 'text', of: (event) => event.context.referrerHost },
  { name: 'utm_source', type: 'text', of: (event) => event.context.utm.source },
  { name: 'utm_medium', type: 'text', of: (event) => event.context.utm.medium },
  { name: 'utm_campaign', type: 'text', of: (event) => event.context.utm.campaign },
  { name: 'short_link_id', type: 'text', of: (event) => event.shortLinkId },
  { name: 'short_link_code', type: 'text', of: (event) => event.shortLinkCode },
  { name: 'warnings', type: 'integer', of: (event) => event.warnings.length },
]
const columns = bulkColumns(columnList)

const withConversions = bulkColumns<EnrichedEvent>([
  ...columnList,
  { name: 'conversions', type: 'jsonb', of: ({ conversions }) => JSON.stringify(conversions) },
])

// In key order, so that two writers that share events cannot deadlock.
const INSERT = `
  INSERT INTO analytics.events (${columns.names}) SELECT * FROM ${columns.unnest}
  ORDER BY 1, 2 ON CONFLICT (project_id, event_key) DO NOTHING`

// Which conversions an event is was decided when it first came, so they follow from new events only.
const INSERT_WITH_CONVERSIONS = `
  WITH incoming AS (
    SELECT * FROM ${withConversions.unnest} AS given (${withConversions.names})
  ), stored AS (
    INSERT INTO analytics.events (${columns.names}) SELECT ${columns.names} FROM incoming ORDER BY 1, 2
    ON CONFLICT (project_id, event_key) DO NOTHING RETURNING project_id, event_key
  )
  INSERT INTO analytics.conversions (project_id, event_key, selector_id, event_name, visitor_id, user_id, profile_id,
    "timestamp", bot, device, country, utm_campaign, short_link_id, amount, currency, quantity)
  SELECT project_id, event_key, claim."selectorId", event_name, visitor_id, user_id, profile_id,
    "timestamp", bot, device, country, utm_campaign, short_link_id, claim.amount, claim.currency, claim.quantity
  FROM incoming JOIN stored USING (project_id, event_key)
  CROSS JOIN LATERAL jsonb_to_recordset(conversions)
    AS claim ("selectorId" uuid, amount bigint, currency text, quantity float8)
  ORDER BY 1, 2, 3 ON CONFLICT (project_id, event_key, selector_id) DO NOTHING`

const keys = bulkColumns<{ projectId: string; eventKey: string }>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'event_key', type: 'uuid', of: ({ eventKey }) => eventKey },
])
const ERASE = `
  WITH gone AS (
    SELECT * FROM ${keys.unnest} AS given (${keys.names})
  ), erased AS (
    DELETE FROM analytics.events USING gone
    WHERE events.project_id = gone.project_id AND events.event_key = gone.event_key
  )
  UPDATE analytics.conversions SET visitor_id = NULL, user_id = NULL, profile_id = NULL FROM gone
  WHERE conversions.project_id = gone.project_id AND conversions.event_key = gone.event_key`

const COUNT = `
  SELECT count(*)::int AS events FROM analytics.events
  WHERE project_id = $1 AND "timestamp" >= $2 AND "timestamp" < $3 AND ($4::text IS NULL OR event_name = $4)`

/** The analytics store in PostgreSQL, for what one server can count. */
export const createPostgresAnalytics = (pool: Pool): Analytics => ({
  storeEvents: async (events) => {
    if (events.length === 0) return
    // Most batches have no conversion, and are spared the longer statement.
    await pool.query(
      events.some(({ conversions }) => conversions.length > 0)
        ? {
            name: 'store-analytics-conversions',
            text: INSERT_WITH_CONVERSIONS,
            values: withConversions.values(events),
          }
        : { name: 'store-analytics-events', text: INSERT, values: columns.values(events) },
    )
  },
  eraseEvents: async (events) => {
    if (events.length > 0) await pool.query(ERASE, keys.values(events))
  },
  measure: (query) => measure(pool, query),
  countEvents: async ({ projectId, from, to, eventName }) => {
    const { rows } = await pool.query<{ events: number }>(COUNT, [projectId, from, to, eventName ?? null])
    return rows[0]?.events ?? 0
  },
})
