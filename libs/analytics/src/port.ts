import type { EnrichedEvent } from '@waymark/contracts'

/** The store that statistics are computed from. */
export type Analytics = {
  /** Stores events, each once per (project, eventId), however often it is given. Readable when this resolves. */
  storeEvents(events: readonly EnrichedEvent[]): Promise<void>
  /** How many events a project has between two times, `from` included and `to` not; by name when one is given. */
  countEvents(query: { projectId: string; from: Date; to: Date; eventName?: string }): Promise<number>
}
