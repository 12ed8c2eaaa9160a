import type { EnrichedEvent } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain'
import type { Pool } from 'pg'
import type { Analytics } from './port.ts'

/** What is kept of an event for statistics: the columns that are filtered and grouped by. */
const columns = bulkColumns<EnrichedEvent>([
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
])

// In key order, so that two writers that share events cannot deadlock.
const INSERT = `
  INSERT INTO analytics.events (${columns.names}) SELECT * FROM ${columns.unnest}
  ORDER BY 1, 2 ON CONFLICT (project_id, event_key) DO NOTHING`

const COUNT = `
  SELECT count(*)::int AS events FROM analytics.events
  WHERE project_id = $1 AND "timestamp" >= $2 AND "timestamp" < $3 AND ($4::text IS NULL OR event_name = $4)`

/** The analytics store in PostgreSQL, for what one server can count. */
export const createPostgresAnalytics = (pool: Pool): Analytics => ({
  storeEvents: async (events) => {
    if (events.length === 0) return
    await pool.query({ name: 'store-analytics-events', text: INSERT, values: columns.values(events) })
  },
  countEvents: async ({ projectId, from, to, eventName }) => {
    const { rows } = await pool.query<{ events: number }>(COUNT, [projectId, from, to, eventName ?? null])
    return rows[0]?.events ?? 0
  },
})
