import { createPurger, type ErasureJob } from '@waymark/pipeline'
import type { Platform, Service } from '@waymark/service-kit'
import { apiKeyRoutes } from './api-keys.ts'
import { conversionRoutes } from './conversions.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { documentationRoutes } from './documentation.ts'
import { eventDefinitionRoutes } from './event-definitions.ts'
import { eventsRoute } from './events-route.ts'
import { createListEvents } from './list-events.ts'
import { meteringSelectorRoutes } from './metering-selectors.ts'
import { profileRoutes } from './profiles.ts'
import { createProjectRoute } from './project-route.ts'
import { rejectedEventRoutes } from './rejected-events.ts'
import { settingsRoutes } from './settings.ts'
import { statsRoutes } from './stats.ts'

/** How long an erasure may take within its request, in ms. */
const PURGE_DEADLINE_MS = 5_000

/** Reading and managing what a project owns. */
export const createManagementApi = (platform: Platform): Service => {
  const deps = { ...platform, projectRoute: createProjectRoute(platform) }
  const purger = createPurger(platform)
  // What is not done by then is gone on with by the persistence consumer.
  const purge = async (job: ErasureJob): Promise<boolean> => {
    try {
      return await purger.purge(job, AbortSignal.timeout(PURGE_DEADLINE_MS))
    } catch (error) {
      platform.log.warn({ err: error, erasure: job.id }, 'an erasure goes on in the background')
      return false
    }
  }
  return {
    routes: [
      eventsRoute({ ...deps, listEvents: createListEvents(platform.db.pool) }),
      ...apiKeyRoutes(deps),
      ...eventDefinitionRoutes(deps),
      ...meteringSelectorRoutes(deps),
      ...settingsRoutes(deps),
      ...profileRoutes({ ...deps, purge }),
      ...conversionRoutes(deps),
      ...statsRoutes(deps),
      ...rejectedEventRoutes(deps),
      ...deadLetterRoutes(deps),
      ...documentationRoutes(),
    ],
  }
}
