import type { AcceptedEvent, IngestRecord, ProjectSettings } from '@waymark/contracts'
import { type CompiledSelector, conversionsOf } from '../conversion/metering.ts'

/** What becoming a record takes of a project's configuration. */
export type RecordConfig = {
  projectId: string
  settings: ProjectSettings
  selectorsFor: (eventName: string) => readonly CompiledSelector[]
}

/** An event as it is queued for enrichment, with the conversions that its project's selectors make of it. */
export const ingestRecordOf = (
  event: AcceptedEvent,
  { projectId, settings, selectorsFor }: RecordConfig,
  receipt: Pick<IngestRecord, 'receivedAt' | 'sentAt' | 'client' | 'backfill' | 'warnings'>,
): IngestRecord => ({
  v: 1,
  kind: 'event',
  projectId,
  ...receipt,
  ipStorage: settings.ipStorage ?? 'truncate',
  event,
  conversions: conversionsOf(event, selectorsFor(event.eventName)),
})
