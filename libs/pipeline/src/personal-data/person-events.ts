import type { EventView } from '@waymark/contracts/http/events'
import { type EventQueries, viewOf } from '@waymark/event-store'

/** Events of a person in memory at a time. */
const PORTION_EVENTS = 100
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export type PersonEvents = Pick<EventQueries, 'readEvents'>
type Person = { projectId: string; profileIds: readonly string[] }

/** The events of a person as the API shows them, the last received first. */
export async function* readPersonEvents(
  store: PersonEvents,
  { projectId, profileIds }: Person,
): AsyncGenerator<EventView> {
  const portion = () => PORTION_EVENTS
  for await (const { events } of store.readEvents({ projectId, profileIds, portion }))
    yield* events.map(viewOf)
}

/** The ids of clicks that led to events of a person. Clients may send any text as a click id. */
export const findClickIds = async (
  store: PersonEvents,
  { projectId, profileIds }: Person,
): Promise<string[]> => {
  const found = new Set<string>()
  const filters = [{ property: LINK, test: 'exists', negated: false }] as const
  const portion = () => PORTION_EVENTS
  for await (const { events } of store.readEvents({ projectId, profileIds, filters, portion }))
    for (const { context } of events) {
      const clickId = context.shortLink?.clickId
      if (clickId && UUID.test(clickId)) found.add(clickId)
    }
  return [...found]
}

const LINK = { source: 'column', column: 'link' } as const
