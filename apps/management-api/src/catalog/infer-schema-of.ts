import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSchemaInference } from '@waymark/domain/catalog'
import type { EventQueries } from '@waymark/event-store'
import { createReadSize } from '../http/read-size.ts'

/** Maximum events per read. */
const EVENTS_PER_READ = 100

type Sample = { projectId: string; eventName: string; sampleSize: number }

/** A schema that fits the latest events of a name, and how many events were sampled. */
export const inferSchemaOf = async (
  store: Pick<EventQueries, 'readEvents'>,
  { projectId, eventName, sampleSize }: Sample,
): Promise<{ sampled: number; schema: Record<string, unknown> }> => {
  const inference = createSchemaInference()
  let sampled = 0
  const size = createReadSize(EVENTS_PER_READ)
  const portion = () => Math.min(size.records(), sampleSize - sampled)
  for await (const { events } of store.readEvents({ projectId, eventName, portion })) {
    let bytes = 0
    for (const { properties } of events) {
      bytes += JSON.stringify(properties).length
      inference.add(properties)
      // One event can take milliseconds, so other requests run in between.
      await nextTurn()
    }
    size.note(events.length, bytes)
    sampled += events.length
    if (sampled === sampleSize) break
  }
  return { sampled, schema: inference.schema() }
}
