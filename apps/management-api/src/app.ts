import type { Platform, Service } from '@waymark/service-kit'
import { apiKeyRoutes } from './api-keys.ts'
import { conversionRoutes } from './conversions.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { decisionPreviewRoute } from './decision-preview.ts'
import { decisionStatsRoute } from './decision-stats.ts'
import { decisionRoutes } from './decisions.ts'
import { eventDefinitionRoutes } from './event-definitions.ts'
import { eventsRoute } from './events-route.ts'
import { createListEvents } from './list-events.ts'
import { meteringSelectorRoutes } from './metering-selectors.ts'
import { profileRoutes } from './profiles.ts'
import { createProjectRoute } from './project-route.ts'
import { rejectedEventRoutes } from './rejected-events.ts'
import { settingsRoutes } from './settings.ts'

/** Reading and managing what a project owns. */
export const createManagementApi = (platform: Platform): Service => {
  const deps = { ...platform, projectRoute: createProjectRoute(platform) }
  return {
    routes: [
      eventsRoute({ ...deps, listEvents: createListEvents(platform.db.pool) }),
      ...apiKeyRoutes(deps),
      ...eventDefinitionRoutes(deps),
      ...meteringSelectorRoutes(deps),
      ...settingsRoutes(deps),
      ...profileRoutes(deps),
      ...conversionRoutes(deps),
      ...decisionRoutes(deps),
      decisionPreviewRoute(deps),
      decisionStatsRoute(deps),
      ...rejectedEventRoutes(deps),
      ...deadLetterRoutes(deps),
    ],
  }
}
