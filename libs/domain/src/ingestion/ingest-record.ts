import type { AcceptedEvent, CompactRecord, IngestRecord, ProjectSettings } from '@waymark/contracts'
import { type CompiledSelector, conversionsOf } from '../conversion/metering.ts'

/** What becoming a record takes of a project's configuration. */
export type RecordConfig = {
  projectId: string
  settings: ProjectSettings
  selectorsFor: (eventName: string) => readonly CompiledSelector[]
}

/** What is known of an event beside what it says itself. */
export type Receipt = Pick<IngestRecord, 'receivedAt' | 'sentAt' | 'client' | 'backfill' | 'warnings'>

/** An event as it is queued for enrichment, with the conversions that its project's selectors make of it. */
export const ingestRecordOf = (
  event: AcceptedEvent,
  { projectId, settings, selectorsFor }: RecordConfig,
  { receivedAt, sentAt, client, backfill, warnings }: Receipt,
): IngestRecord => ({
  v: 1,
  kind: 'event',
  projectId,
  receivedAt,
  sentAt,
  client,
  backfill,
  warnings,
  ipStorage: settings.ipStorage ?? 'truncate',
  event,
  conversions: conversionsOf(event, selectorsFor(event.eventName)),
})

/** A record as it is queued, without what it has nothing to say about. */
export const compactRecordOf = (record: IngestRecord): CompactRecord => {
  const { projectId, receivedAt, sentAt, client, ipStorage, backfill, warnings, conversions } = record
  const compact: CompactRecord = {
    v: 2,
    kind: 'event',
    projectId,
    receivedAt,
    event: compactEventOf(record.event),
  }
  if (sentAt !== null) compact.sentAt = sentAt
  if (client.ip !== null || client.userAgent !== null) compact.client = client
  if (ipStorage !== 'truncate') compact.ipStorage = ipStorage
  if (backfill) compact.backfill = backfill
  if (warnings.length > 0) compact.warnings = warnings
  if (conversions.length > 0) compact.conversions = conversions
  return compact
}

const compactEventOf = (event: AcceptedEvent): CompactRecord['event'] => {
  const { eventId, eventName, properties } = event
  const compact: CompactRecord['event'] = { eventId, eventName, properties }
  if (event.visitorId !== null) compact.visitorId = event.visitorId
  if (event.userId !== null) compact.userId = event.userId
  if (event.sessionId !== null) compact.sessionId = event.sessionId
  if (event.clientTimestamp !== null) compact.clientTimestamp = event.clientTimestamp
  if (event.shortLinkId !== null) compact.shortLinkId = event.shortLinkId
  if (event.shortLinkCode !== null) compact.shortLinkCode = event.shortLinkCode
  if (!isEmpty(event.clickIds)) compact.clickIds = event.clickIds
  return compact
}

/** The record that was queued, with everything that was left out. */
export const ingestRecordFrom = (queued: CompactRecord | IngestRecord): IngestRecord => {
  if (queued.v === 1) return queued
  const { event } = queued
  // Nothing is to be forgotten here, not even what may become optional one day.
  const record: Required<IngestRecord> & { event: Required<AcceptedEvent> } = {
    v: 1,
    kind: 'event',
    projectId: queued.projectId,
    receivedAt: queued.receivedAt,
    sentAt: queued.sentAt ?? null,
    client: queued.client ?? { ip: null, userAgent: null },
    ipStorage: queued.ipStorage ?? 'truncate',
    backfill: queued.backfill ?? false,
    event: {
      eventId: event.eventId,
      eventName: event.eventName,
      visitorId: event.visitorId ?? null,
      userId: event.userId ?? null,
      sessionId: event.sessionId ?? null,
      properties: event.properties,
      clientTimestamp: event.clientTimestamp ?? null,
      shortLinkId: event.shortLinkId ?? null,
      shortLinkCode: event.shortLinkCode ?? null,
      clickIds: event.clickIds ?? {},
    },
    warnings: queued.warnings ?? [],
    conversions: queued.conversions ?? [],
  }
  return record
}

const isEmpty = (map: Record<string, string>): boolean => {
  for (const _key in map) return false
  return true
}
