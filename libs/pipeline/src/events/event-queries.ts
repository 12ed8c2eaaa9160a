import { crc32 } from 'node:zlib'
import type { EventKey } from '@waymark/analytics'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { ConversionClaim } from '@waymark/contracts/records/ingest-record'
import { type BulkColumn, bulkColumns, type Database, ensureEventPartitions } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import type { ClientBase, Pool } from 'pg'
import {
  attributeConversions,
  type LinkAttribution,
  linkFieldsOf,
  type TouchedPeople,
} from '../links/index.ts'
import { EVENT_COLUMNS, type EventRow, eventView } from '../stored-events/index.ts'

const EVENT: readonly BulkColumn<EnrichedEvent>[] = [
  { name: 'project_id', type: 'uuid', of: (event) => event.projectId },
  { name: 'event_key', type: 'uuid', of: (event) => eventKeyOf(event.eventId) },
  { name: 'received_at', type: 'timestamptz', of: (event) => event.receivedAt },
  { name: 'event_id', type: 'text', of: (event) => event.eventId },
  { name: 'event_name', type: 'text', of: (event) => event.eventName },
  { name: 'visitor_id', type: 'text', of: (event) => event.visitorId },
  { name: 'user_id', type: 'text', of: (event) => event.userId },
  { name: 'session_id', type: 'text', of: (event) => event.sessionId },
  { name: 'properties', type: 'jsonb', of: (event) => JSON.stringify(event.properties) },
  { name: 'client_timestamp', type: 'text', of: (event) => event.clientTimestamp },
  { name: 'timestamp', type: 'timestamptz', of: (event) => event.timestamp },
  { name: 'profile_id', type: 'uuid', of: (event) => event.profileId },
  { name: 'short_link_id', type: 'text', of: (event) => event.shortLinkId },
  { name: 'short_link_code', type: 'text', of: (event) => event.shortLinkCode },
  { name: 'click_ids', type: 'jsonb', of: (event) => JSON.stringify(event.clickIds) },
  { name: 'warnings', type: 'jsonb', of: (event) => JSON.stringify(event.warnings) },
  { name: 'context', type: 'jsonb', of: (event) => JSON.stringify(event.context) },
]
/** A part of the claim of an id, by which another event with the same id is recognized. */
const NAME_HASH: BulkColumn<EnrichedEvent> = {
  name: 'name_hash',
  type: 'int',
  // As a signed integer, because PostgreSQL has no others.
  of: ({ eventName }) => crc32(eventName) | 0,
}
const eventColumns = bulkColumns(EVENT)
const incomingColumns = bulkColumns([...EVENT, NAME_HASH])

// A unique key of `events` would have to include its partition column, so ids are claimed in a separate table. Claims
// are in key order, so that writers of the same events do not deadlock.
const STORE = `
  WITH incoming AS (
    SELECT DISTINCT ON (project_id, event_key) *
    FROM ${incomingColumns.unnest} WITH ORDINALITY AS given (${incomingColumns.names}, place)
    ORDER BY project_id, event_key, place
  ), claimed AS (
    INSERT INTO ingest.event_ids (project_id, event_key, received_at, name_hash)
    SELECT project_id, event_key, received_at, name_hash FROM incoming ORDER BY project_id, event_key
    ON CONFLICT DO NOTHING RETURNING project_id, event_key
  ), stored AS (
    INSERT INTO ingest.events (${eventColumns.names})
    SELECT ${eventColumns.names} FROM incoming JOIN claimed USING (project_id, event_key)
  )
  SELECT project_id, event_key FROM claimed`

/**
 * Stores events in the primary database, each once per (project, eventId), in one statement. Everything else that must
 * happen once per event belongs in the same transaction.
 * @returns the events that were new
 */
export const storeEvents = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
): Promise<EnrichedEvent[]> => {
  if (events.length === 0) return []
  const { rows } = await client.query<{ project_id: string; event_key: string }>({
    name: 'store-events',
    text: STORE,
    values: incomingColumns.values(events),
  })
  const claimed = new Set(rows.map(({ project_id, event_key }) => `${project_id}/${event_key}`))
  // `delete` returns true once per claim, so repeats within the batch are not new.
  return events.filter((event) => claimed.delete(`${event.projectId}/${eventKeyOf(event.eventId)}`))
}

const nameColumns = bulkColumns<EnrichedEvent>([
  { name: 'project_id', type: 'uuid', of: (event) => event.projectId },
  { name: 'event_key', type: 'uuid', of: (event) => eventKeyOf(event.eventId) },
  { name: 'event_name', type: 'text', of: (event) => event.eventName },
  NAME_HASH,
])

// An id that an earlier version claimed has no hash, but the name is in its event. `received_at` selects the partition.
const FIND_OTHER = `
  SELECT given.place::int - 1 AS place
  FROM ${nameColumns.unnest} WITH ORDINALITY AS given (${nameColumns.names}, place)
  JOIN ingest.event_ids i USING (project_id, event_key)
  LEFT JOIN ingest.events e ON i.name_hash IS NULL
    AND e.project_id = i.project_id AND e.received_at = i.received_at AND e.event_key = i.event_key
  WHERE i.name_hash <> given.name_hash OR e.event_name <> given.event_name
  ORDER BY place`

/**
 * The indexes of events whose id belongs to an event with another name, which may be erased or removed since. Names are
 * compared by a hash of 32 bits, so one in four thousand million is not recognized.
 */
export const findOtherEvents = async (db: Pool, events: readonly EnrichedEvent[]): Promise<number[]> => {
  const { rows } = await db.query<{ place: number }>({
    name: 'find-other-events',
    text: FIND_OTHER,
    values: nameColumns.values(events),
  })
  return rows.map(({ place }) => place)
}

/** The key of an event. */
export const keyOfEvent = ({
  projectId,
  eventId,
}: Pick<EnrichedEvent, 'projectId' | 'eventId'>): EventKey => ({
  projectId,
  eventKey: eventKeyOf(eventId),
})

const keyColumns = bulkColumns<EventKey>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'event_key', type: 'uuid', of: ({ eventKey }) => eventKey },
])
const FIND_STORED = `
  SELECT project_id, ${EVENT_COLUMNS}, (
    SELECT coalesce(jsonb_agg(jsonb_build_object(
      'selectorId', c.selector_id, 'amount', c.amount, 'currency', c.currency, 'quantity', c.quantity
    )), '[]') FROM ingest.conversions c WHERE c.project_id = e.project_id AND c.event_key = e.event_key
  ) AS conversions
  FROM ${keyColumns.unnest} AS given (${keyColumns.names})
  JOIN ingest.event_ids i USING (project_id, event_key) JOIN ingest.events e USING (project_id, received_at, event_key)`

type StoredRow = EventRow & Pick<EnrichedEvent, 'conversions'> & { project_id: string }

/** The events that are stored under these keys. Removed and erased ones are missing. */
export const findStoredEvents = async (
  client: ClientBase,
  keys: readonly EventKey[],
): Promise<EnrichedEvent[]> => {
  if (keys.length === 0) return []
  const { rows } = await client.query<StoredRow>({
    name: 'find-stored-events',
    text: FIND_STORED,
    values: keyColumns.values(keys),
  })
  return rows.map((row) => ({
    ...{ v: 1, projectId: row.project_id, ...eventView(row), conversions: row.conversions },
    // Not stored, and of no use to a store.
    backfill: false,
  }))
}

type ConversionRow = { event: EnrichedEvent; claim: ConversionClaim; links: LinkAttribution }

const conversionColumns = bulkColumns<ConversionRow>([
  { name: 'project_id', type: 'uuid', of: ({ event }) => event.projectId },
  { name: 'event_key', type: 'uuid', of: ({ event }) => eventKeyOf(event.eventId) },
  { name: 'selector_id', type: 'uuid', of: ({ claim }) => claim.selectorId },
  { name: 'event_id', type: 'text', of: ({ event }) => event.eventId },
  { name: 'event_name', type: 'text', of: ({ event }) => event.eventName },
  { name: 'amount', type: 'bigint', of: ({ claim }) => claim.amount },
  { name: 'currency', type: 'text', of: ({ claim }) => claim.currency },
  { name: 'quantity', type: 'float8', of: ({ claim }) => claim.quantity },
  { name: 'visitor_id', type: 'text', of: ({ event }) => event.visitorId },
  { name: 'user_id', type: 'text', of: ({ event }) => event.userId },
  { name: 'profile_id', type: 'uuid', of: ({ event }) => event.profileId },
  { name: 'attribution', type: 'jsonb', of: (row) => JSON.stringify(attributionOf(row)) },
  { name: 'occurred_at', type: 'timestamptz', of: ({ event }) => event.timestamp },
  { name: 'received_at', type: 'timestamptz', of: ({ event }) => event.receivedAt },
])

const INSERT_CONVERSIONS = `
  INSERT INTO ingest.conversions (${conversionColumns.names}) SELECT * FROM ${conversionColumns.unnest}
  ORDER BY 1, 2, 3 ON CONFLICT (project_id, event_key, selector_id) DO NOTHING`

/**
 * Stores the conversions of events. Call it only with new events, in the transaction that stored them and their touches,
 * so that each conversion counts once and for the right link.
 */
export const storeConversions = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  people: TouchedPeople,
): Promise<void> => {
  const attribute = await attributeConversions(client, events, people)
  const rows = events.flatMap((event) =>
    event.conversions.map((claim) => ({ event, claim, links: attribute(event) })),
  )
  if (rows.length === 0) return
  await client.query({
    name: 'store-conversions',
    text: INSERT_CONVERSIONS,
    values: conversionColumns.values(rows),
  })
}

/** The origin of the converting visit according to the event, and the short links before it. */
const attributionOf = ({ event: { context, shortLinkId, shortLinkCode }, links }: ConversionRow) => ({
  utm: context.utm,
  clickIds: context.clickIds,
  referrer: context.referrer,
  shortLinkId,
  shortLinkCode,
  ...linkFieldsOf(links),
})

/** Creates the monthly partitions of events. */
export type EventPartitions = {
  /** Creates the partitions of this month and the next ones. */
  makeAhead(now: Date): Promise<void>
  /** Creates the partitions that these events need, such as those of an old backlog. */
  ensureFor(events: readonly EnrichedEvent[]): Promise<void>
}

/** Queries the database once per month and process. */
export const createEventPartitions = ({ pool }: Pick<Database, 'pool'>): EventPartitions => {
  const made = new Set<string>()
  return {
    makeAhead: async (now) => {
      await ensureEventPartitions(pool, { now })
    },
    ensureFor: async (events) => {
      const months = new Set(events.map(({ receivedAt }) => receivedAt.slice(0, 7)))
      for (const month of months) {
        if (made.has(month)) continue
        await ensureEventPartitions(pool, { now: new Date(`${month}-01T00:00:00Z`), monthsAhead: 0 })
        made.add(month)
      }
    },
  }
}
