import { createPurger, type ErasureJob } from '@waymark/pipeline'
import type { Platform, Service } from '@waymark/service-kit'
import { acceptInvitationRoute } from './accept-invitation.ts'
import { createAccountLimits } from './account-limits.ts'
import { createAccountRoutes } from './account-route.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { createAuditLog } from './audit-log.ts'
import { auditLogRoute } from './audit-log-route.ts'
import { conversionRoutes } from './conversions.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { decisionPreviewRoute } from './decision-preview.ts'
import { decisionStatsRoute } from './decision-stats.ts'
import { decisionRoutes } from './decisions.ts'
import { documentationRoutes } from './documentation.ts'
import { emailDeliveryRoutes } from './email-deliveries.ts'
import { emailPreviewRoutes } from './email-previews.ts'
import { emailTriggerRoutes } from './email-triggers.ts'
import { eventDefinitionRoutes } from './event-definitions.ts'
import { eventsRoute } from './events-route.ts'
import { forgetExpired } from './forget-expired.ts'
import { invitationRoutes } from './invitations.ts'
import { createListEvents } from './list-events.ts'
import { memberRoutes } from './members.ts'
import { meteringSelectorRoutes } from './metering-selectors.ts'
import { ownAccountRoutes } from './own-account.ts'
import { createPasswords } from './passwords.ts'
import { profileRoutes } from './profiles.ts'
import { createProjectRoute } from './project-route.ts'
import { projectRoutes } from './projects.ts'
import { rejectedEventRoutes } from './rejected-events.ts'
import { createSessions } from './sessions.ts'
import { settingsRoutes } from './settings.ts'
import { signInRoutes } from './sign-in.ts'
import { statsRoutes } from './stats.ts'
import { suppressionRoutes } from './suppressions.ts'
import { tenantRoutes } from './tenants.ts'
import { userRoutes } from './users.ts'

/** How long an erasure may take within its request, in ms. */
const PURGE_DEADLINE_MS = 5_000

/** Reading and managing what a project owns. */
export const createManagementApi = (platform: Platform): Service => {
  const sessions = createSessions(platform)
  const auditLog = createAuditLog(platform)
  const deps = {
    ...platform,
    sessions,
    auditLog,
    passwords: createPasswords(),
    accountLimits: createAccountLimits(platform),
    accountRoutes: createAccountRoutes({ ...platform, sessions }),
    projectRoute: createProjectRoute({ ...platform, sessions, auditLog }),
  }
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
      ...signInRoutes(deps),
      ...ownAccountRoutes(deps),
      ...projectRoutes(deps),
      ...memberRoutes(deps),
      ...invitationRoutes(deps),
      acceptInvitationRoute(deps),
      ...tenantRoutes(deps),
      ...userRoutes(deps),
      auditLogRoute(deps),
      eventsRoute({ ...deps, listEvents: createListEvents(platform.db.pool) }),
      ...apiKeyRoutes(deps),
      ...eventDefinitionRoutes(deps),
      ...meteringSelectorRoutes(deps),
      ...settingsRoutes(deps),
      ...profileRoutes({ ...deps, purge }),
      ...conversionRoutes(deps),
      ...decisionRoutes(deps),
      decisionPreviewRoute(deps),
      decisionStatsRoute(deps),
      ...statsRoutes(deps),
      ...rejectedEventRoutes(deps),
      ...deadLetterRoutes(deps),
      ...emailTriggerRoutes(deps),
      ...emailPreviewRoutes(deps),
      ...emailDeliveryRoutes(deps),
      ...suppressionRoutes(deps),
      ...documentationRoutes(),
    ],
    loops: [forgetExpired(deps)],
  }
}
