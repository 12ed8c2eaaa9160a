import type { AnalyticsWrites } from '@waymark/analytics'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { Database } from '@waymark/database'
import type { ProjectConfig, ProjectConfigs } from '@waymark/project-config'
import type { ClientBase } from 'pg'
import { dequeueErased, queueForArchive } from '../archive/index.ts'
import { type CountedEvents, storeCounts } from '../decisions/index.ts'
import { aboutEvent, findErased, withoutErased } from '../erasure/index.ts'
import { storeTouches } from '../identity/index.ts'
import { keptBy } from '../retention/index.ts'
import {
  type EventPartitions,
  findStoredEvents,
  keyOfEvent,
  storeConversions,
  storeEvents,
} from './event-queries.ts'

export type EventWriterDeps = {
  db: Database
  analytics: Pick<AnalyticsWrites, 'storeEvents' | 'eraseEvents'>
  projectConfigs: ProjectConfigs
  partitions: EventPartitions
  /** Called after new events were stored in the primary database. */
  onStored?: (events: readonly EnrichedEvent[]) => void
  /** Whether to wait until every replica of the analytics store has the events. */
  onAllReplicas?: boolean
}
/** Further writes in the transaction that stores events in the primary database. */
type Alongside = (client: ClientBase, events: readonly EnrichedEvent[]) => Promise<void>

/**
 * Stores events in the primary database and the analytics store, each event once. Events of people who were erased after
 * they were received are in neither store afterwards. Events from before the project's retention are only in the primary
 * database, which removes them by receipt.
 */
export const createEventWriter = ({
  db,
  analytics,
  projectConfigs,
  partitions,
  onStored = () => {},
  onAllReplicas = false,
}: EventWriterDeps) => {
  const eraseFromAnalytics = async (events: readonly EnrichedEvent[]): Promise<void> => {
    if (events.length === 0) return
    for (const [projectId, ofProject] of Map.groupBy(events, (event) => event.projectId)) {
      const placeOf = (event: EnrichedEvent) => ({
        receivedAt: Date.parse(event.receivedAt),
        eventKey: keyOfEvent(event).eventKey,
      })
      await dequeueErased(db.pool, projectId, ofProject.map(placeOf))
    }
    await analytics.eraseEvents(events.map(keyOfEvent))
  }

  return async (events: readonly EnrichedEvent[], alongside?: Alongside): Promise<void> => {
    await partitions.ensureFor(events)
    // Before the transaction, which would otherwise need a second connection.
    const configs = await configsOf(projectConfigs, events)
    const countedEvents: CountedEvents = (projectId) =>
      configs.get(projectId)?.decisions.countedEvents ?? NONE
    const isKept = keptBy(configs, Date.now())
    const { kept, erased, stored, added } = await db.transaction(async (client) => {
      const sorted = await withoutErased(client, events, aboutEvent)
      const added = new Set(await storeNewEvents(client, sorted.kept, countedEvents))
      await queueForArchive(
        client,
        [...added].filter(
          (event) => configs.get(event.projectId)?.settings.archiveEvents === true && isKept(event),
        ),
      )
      await alongside?.(client, sorted.kept)
      const repeats = sorted.kept.filter((event) => !added.has(event))
      return {
        ...sorted,
        added,
        stored: [...added, ...(await findStoredEvents(client, repeats.map(keyOfEvent)))],
      }
    })
    onStored([...added])
    // Repeats too, as they are stored, because the analytics store may lack them after a failure or a crash.
    await analytics.storeEvents(stored.filter(isKept), { onAllReplicas })
    // An erasure may have run between the two writes, or through this store only before a crash.
    const written = [...kept, ...stored]
    const late = await findErased(db.pool, written.map(aboutEvent))
    await eraseFromAnalytics([...erased, ...written.filter((_, place) => late.has(place))])
  }
}

const NONE: ReadonlySet<string> = new Set()

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
 * Stores events in the primary database, and for new ones their counts, touches and conversions, in one transaction.
 * @returns the events that were new
 */
export const storeNewEvents = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  countedEvents: CountedEvents,
): Promise<EnrichedEvent[]> => {
  const stored = await storeEvents(client, events)
  await storeCounts(client, stored, countedEvents)
  await storeConversions(client, stored, await storeTouches(client, stored))
  return stored
}
