import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { Database } from '@waymark/database'
import { EventStoreDataError, type EventWrites } from '@waymark/event-store'
import type { ProjectConfig, ProjectConfigs } from '@waymark/project-config'
import type { ClientBase } from 'pg'
import { dequeueForGood, queueForArchive } from '../archive/index.ts'
import { type CountedEvents, storeCounts } from '../decisions/index.ts'
import { aboutEvent, findErased, withoutErased } from '../erasure/index.ts'
import { storeTouches } from '../identity/index.ts'
import { earnPoints } from '../loyalty/index.ts'
import { keptBy } from '../retention/index.ts'
import {
  type ClaimedEvents,
  claimEvents,
  keyOfEvent,
  storeConversions,
  withOwnClaim,
} from './event-queries.ts'

export type EventWriterDeps = {
  db: Database
  eventStore: Pick<EventWrites, 'storeEvents' | 'eraseEvents'>
  projectConfigs: ProjectConfigs
  /** Called after the ids of new events were claimed. */
  onStored?: (events: readonly EnrichedEvent[]) => void
  /** Whether to wait until every replica of the event store has the events. */
  onAllReplicas?: boolean
}
/** Further writes in the transaction that claims the ids of events. */
type Alongside = (client: ClientBase, events: readonly EnrichedEvent[]) => Promise<void>

/**
 * Stores events, each once: what must be decided once in the primary database, the events themselves in the event store.
 * Events of people who were erased after they were received, and those from before the project's retention, are in neither
 * store afterwards.
 */
export const createEventWriter = ({
  db,
  eventStore,
  projectConfigs,
  onStored = () => {},
  onAllReplicas = false,
}: EventWriterDeps) => {
  const dequeue = async (events: readonly EnrichedEvent[]): Promise<void> => {
    for (const [projectId, ofProject] of Map.groupBy(events, (event) => event.projectId)) {
      const placeOf = (event: EnrichedEvent) => ({
        receivedAt: Date.parse(event.receivedAt),
        eventKey: keyOfEvent(event).eventKey,
      })
      await dequeueForGood(db.pool, projectId, ofProject.map(placeOf))
    }
  }

  const eraseEvents = async (events: readonly EnrichedEvent[]): Promise<void> => {
    if (events.length === 0) return
    await dequeue(events)
    await eventStore.eraseEvents(events.map(keyOfEvent))
  }

  const storeEvents = async (events: readonly EnrichedEvent[]): Promise<void> => {
    try {
      await eventStore.storeEvents(events, { onAllReplicas })
    } catch (error) {
      // It becomes a dead letter, for which the archive would wait for ever.
      if (error instanceof EventStoreDataError && events.length === 1) await dequeue(events)
      throw error
    }
  }

  /** Returns the events whose ids belong to earlier ones, which are not stored. */
  return async (
    events: readonly EnrichedEvent[],
    alongside?: Alongside,
  ): Promise<ClaimedEvents['repeated']> => {
    // Before the transaction, which would otherwise need a second connection.
    const configs = await configsOf(projectConfigs, events)
    const countedEvents: CountedEvents = (projectId) =>
      configs.get(projectId)?.decisions.countedEvents ?? NONE
    const programmesOf = (projectId: string) => configs.get(projectId)?.loyaltyProgrammes ?? []
    const isKept = keptBy(configs, Date.now())
    const isArchived = (event: EnrichedEvent): boolean =>
      configs.get(event.projectId)?.settings.archiveEvents === true && isKept(event)
    const { erased, claimed } = await db.transaction(async (client) => {
      const sorted = await withoutErased(client, events, aboutEvent)
      const claimed = await storeNewEvents(client, sorted.kept, countedEvents)
      await earnPoints(client, claimed.added, programmesOf, new Date())
      await queueForArchive(client, claimed.added.filter(isArchived))
      await alongside?.(client, sorted.kept)
      return { erased: await withOwnClaim(client, sorted.erased), claimed }
    })
    onStored(claimed.added)
    const written = [...claimed.added, ...claimed.redelivered]
    await storeEvents(written.filter(isKept))
    // An erasure may have run between the two writes, or through this store only before a crash.
    const late = await findErased(db.pool, written.map(aboutEvent))
    await eraseEvents([...erased, ...written.filter((_, index) => late.has(index))])
    return claimed.repeated
  }
}

const NONE: ReadonlySet<string> = new Set()

/** Whether the projects of events still keep them. @throws AppError store_unavailable when a configuration is not available */
export const keptByProjects = async (projectConfigs: ProjectConfigs, events: readonly EnrichedEvent[]) =>
  keptBy(await configsOf(projectConfigs, events), Date.now())

/** The configurations of the projects of a batch. @throws AppError store_unavailable when one is not available */
const configsOf = async (
  projectConfigs: ProjectConfigs,
  events: readonly EnrichedEvent[],
): Promise<ReadonlyMap<string, ProjectConfig>> => {
  const configs = new Map<string, ProjectConfig>()
  for (const projectId of new Set(events.map((event) => event.projectId)))
    configs.set(projectId, await projectConfigs.get(projectId))
  return configs
}

/**
 * Claims the ids of events, and stores the counts, touches and conversions of new ones, in one transaction.
 */
export const storeNewEvents = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  countedEvents: CountedEvents,
): Promise<ClaimedEvents> => {
  const claimed = await claimEvents(client, events)
  await storeCounts(client, claimed.added, countedEvents)
  await storeConversions(client, claimed.added, await storeTouches(client, claimed.added))
  return claimed
}
