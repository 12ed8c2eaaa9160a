import type { ConversionClaim, EnrichedEvent } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain'
import type { ClientBase } from 'pg'
import type { TouchedPeople } from './identity/store-touches.ts'
import { attributeConversions, type LinkAttribution, linkFieldsOf } from './links/attribute-conversions.ts'

type Row = { event: EnrichedEvent; claim: ConversionClaim; links: LinkAttribution }

const columns = bulkColumns<Row>([
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

const INSERT = `
  INSERT INTO ingest.conversions (${columns.names}) SELECT * FROM ${columns.unnest}
  ORDER BY 1, 2, 3 ON CONFLICT (project_id, event_key, selector_id) DO NOTHING`

/**
 * Stores the conversions that events are. Give it only events that were new, in the transaction that stored them and the
 * touches of their people: that is what makes a conversion count exactly once, and for the right link.
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
  await client.query({ name: 'store-conversions', text: INSERT, values: columns.values(rows) })
}

/** Where the visit that converted came from, as the event itself tells, and the short links that led up to it. */
const attributionOf = ({ event: { context, shortLinkId, shortLinkCode }, links }: Row) => ({
  utm: context.utm,
  clickIds: context.clickIds,
  referrer: context.referrer,
  shortLinkId,
  shortLinkCode,
  ...linkFieldsOf(links),
})
