import type { AcceptedEvent, IngestRecord, ProjectSettings } from '@waymark/contracts'
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
