import type { EventQueries, PlacedEvent, StoredEvent } from './store.ts'

/** The events of a project at these places, the first received first. Those that the store does not have are left out. */
export const readEventsAt = async (
  store: Pick<EventQueries, 'readEvents'>,
  projectId: string,
  places: readonly PlacedEvent[],
): Promise<StoredEvent[]> => {
  if (places.length === 0) return []
  const times = places.map(({ receivedAt }) => receivedAt)
  const eventKeys = places.map(({ eventKey }) => eventKey)
  const found: StoredEvent[] = []
  const portions = store.readEvents({
    projectId,
    eventKeys,
    receivedFrom: Math.min(...times),
    below: { receivedAt: Math.max(...times) + 1 },
    // One more ends the list.
    portion: () => places.length + 1 - found.length,
  })
  for await (const { events } of portions) found.push(...events)
  return found.reverse()
}
