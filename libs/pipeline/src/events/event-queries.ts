import { crc32 } from 'node:zlib'
import { storeUnavailable } from '@waymark/contracts/app-error'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { ConversionClaim } from '@waymark/contracts/records/ingest-record'
import { type BulkColumn, bulkColumns } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import type { EventKey } from '@waymark/event-store'
import type { ClientBase } from 'pg'
import {
  attributeConversions,
  type LinkAttribution,
  linkFieldsOf,
  type TouchedPeople,
} from '../links/index.ts'

/** What the claim of an id keeps of its event. */
const CLAIM: readonly BulkColumn<EnrichedEvent>[] = [
  { name: 'project_id', type: 'uuid', of: (event) => event.projectId },
  { name: 'event_key', type: 'uuid', of: (event) => eventKeyOf(event.eventId) },
  { name: 'received_at', type: 'timestamptz', of: (event) => event.receivedAt },
  { name: 'name_hash', type: 'int', of: ({ eventName }) => hashOf(eventName) },
  { name: 'body_hash', type: 'int', of: (event) => hashOf(bodyOf(event)) },
]
const claimColumns = bulkColumns(CLAIM)

/** As a signed integer, because PostgreSQL has no others. */
const hashOf = (text: string): number => crc32(text) | 0

/**
 * What distinguishes two events with one id that were received in the same millisecond. Without what enrichment adds, which
 * may differ when a record is read again.
 */
const bodyOf = (event: EnrichedEvent): string =>
  JSON.stringify([
    event.timestamp,
    event.clientTimestamp,
    event.eventName,
    event.visitorId,
    event.userId,
    event.sessionId,
    event.properties,
  ])

// Claims are in key order, so that writers of the same events do not deadlock. Returns the few events that are not new.
const CLAIM_IDS = `
  WITH given AS (
    SELECT *, row_number() OVER (PARTITION BY project_id, event_key ORDER BY index) AS nth
    FROM ${claimColumns.unnest} WITH ORDINALITY AS given (${claimColumns.names}, index)
  ), claimed AS (
    INSERT INTO ingest.event_ids (${claimColumns.names})
    SELECT ${claimColumns.names} FROM given WHERE nth = 1 ORDER BY project_id, event_key
    ON CONFLICT DO NOTHING RETURNING project_id, event_key
  )
  SELECT index::int FROM given
  WHERE nth > 1 OR (project_id, event_key) NOT IN (SELECT project_id, event_key FROM claimed)`
// An earlier version has stored no hashes. A claim may be gone: its age is that of those that a project forgets.
const FIND_CLAIMS = `
  SELECT i.received_at AS "receivedAt", i.name_hash <> given.name_hash AS "isOther", i.body_hash IS NULL AS "isEarlier",
    i.received_at = given.received_at AND coalesce(i.body_hash = given.body_hash, true) AS "isOwn"
  FROM ${claimColumns.unnest} WITH ORDINALITY AS given (${claimColumns.names}, index)
  LEFT JOIN ingest.event_ids i USING (project_id, event_key) ORDER BY index`

/** The claim of the id of an event that is not new. */
export type Claim = {
  receivedAt: Date
  /** Whether it is of an event with another name; `null` when an earlier version made the claim. */
  isOther: boolean | null
  /** Whether an earlier version made the claim, which stored the event in the primary database. */
  isEarlier: boolean
  /** Whether it is of this very event, which is delivered again. */
  isOwn: boolean
}

/** Events by what the claims of their ids say. */
export type ClaimedEvents = {
  /** New ones. */
  added: EnrichedEvent[]
  /** Those that are delivered again, which the event store may lack after a failure or a crash. */
  redelivered: EnrichedEvent[]
  /** Those whose id belongs to an earlier event, which counts instead, and its claim. */
  repeated: { event: EnrichedEvent; claim: Claim }[]
}

/**
 * Claims the ids of events: each id of a project once for ever. Everything that must happen once per event belongs in the
 * same transaction. Names and bodies are compared by hashes of 32 bits.
 */
export const claimEvents = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
): Promise<ClaimedEvents> => {
  if (events.length === 0) return { added: [], redelivered: [], repeated: [] }
  const { rows } = await client.query<{ index: number }>({
    name: 'claim-events',
    text: CLAIM_IDS,
    values: claimColumns.values(events),
  })
  const indexes = new Set(rows.map(({ index }) => index))
  const isKnown = (index: number): boolean => indexes.has(index + 1)
  const known = events.filter((_, index) => isKnown(index))
  const claims = await findClaims(client, known)
  const repeated = known.map((event, index) => ({ event, claim: claims[index] as Claim }))
  return {
    added: events.filter((_, index) => !isKnown(index)),
    redelivered: repeated.filter(({ claim }) => claim.isOwn).map(({ event }) => event),
    repeated: repeated.filter(({ claim }) => !claim.isOwn),
  }
}

/**
 * The claims of ids that exist. In a statement of its own, which sees what other transactions have claimed.
 * @throws AppError store_unavailable when one was forgotten meanwhile: a repetition claims its id
 */
const findClaims = async (client: ClientBase, events: readonly EnrichedEvent[]): Promise<Claim[]> =>
  (await readClaims(client, events)).map((row) => {
    if (row.receivedAt === null)
      throw storeUnavailable(new Error('The id of an event was forgotten meanwhile'))
    return row
  })

/** Those of some events that claimed their id: the event store may have them. Of the others it has nothing. */
export const withOwnClaim = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
): Promise<EnrichedEvent[]> => {
  const claims = await readClaims(client, events)
  return events.filter((_, index) => claims[index]?.isOwn === true)
}

const readClaims = async (client: ClientBase, events: readonly EnrichedEvent[]) => {
  if (events.length === 0) return []
  const { rows } = await client.query<Claim | { receivedAt: null; isOwn: boolean | null }>({
    name: 'find-claims',
    text: FIND_CLAIMS,
    values: claimColumns.values(events),
  })
  return rows
}

/** The key of an event. */
export const keyOfEvent = ({
  projectId,
  eventId,
}: Pick<EnrichedEvent, 'projectId' | 'eventId'>): EventKey => ({
  projectId,
  eventKey: eventKeyOf(eventId),
})

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
