import type { Platform, Service } from '@waymark/service-kit'
import { eventsRoute } from './events-route.ts'
import { createListEvents } from './list-events.ts'

/** Reading and managing what a project owns. */
export const createManagementApi = ({ db, apiKeys }: Platform): Service => ({
  routes: [eventsRoute({ apiKeys, listEvents: createListEvents(db.pool) })],
})
