import type { Platform, Service } from '@waymark/service-kit'
import { apiKeyRoutes } from './api-keys.ts'
import { conversionRoutes } from './conversions.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { eventDefinitionRoutes } from './event-definitions.ts'
import { eventsRoute } from './events-route.ts'
import { linkRoutes } from './links/link-routes.ts'
import { createListEvents } from './list-events.ts'
import { meteringSelectorRoutes } from './metering-selectors.ts'
import { profileRoutes } from './profiles.ts'
import { createProjectRoute } from './project-route.ts'
import { rejectedEventRoutes } from './rejected-events.ts'
import { settingsRoutes } from './settings.ts'

/** `shortLinkBaseUrl`: where short links are answered, as people see it. */
export type ManagementOptions = { shortLinkBaseUrl: string }

/** Reading and managing what a project owns. */
export const createManagementApi = (platform: Platform, { shortLinkBaseUrl }: ManagementOptions): Service => {
  const projectRoute = createProjectRoute(platform)
  const deps = { ...platform, projectRoute, shortLinkBaseUrl: shortLinkBaseUrl.replace(/\/+$/, '') }
  return {
    routes: [
      eventsRoute({ ...deps, listEvents: createListEvents(platform.db.pool) }),
      ...apiKeyRoutes(deps),
      ...eventDefinitionRoutes(deps),
      ...linkRoutes(deps),
      ...meteringSelectorRoutes(deps),
      ...settingsRoutes(deps),
      ...profileRoutes(deps),
      ...conversionRoutes(deps),
      ...rejectedEventRoutes(deps),
      ...deadLetterRoutes(deps),
    ],
  }
}
