import type { Platform, Service } from '@waymark/service-kit'
import { acceptInvitationRoute } from './accept-invitation.ts'
import { createAccountLimits } from './account-limits.ts'
import { createAccountRoutes } from './account-route.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { createAuditLog } from './audit-log.ts'
import { auditLogRoute } from './audit-log-route.ts'
import { conversionRoutes } from './conversions.ts'
import { couponCsvRoutes } from './coupon-csv.ts'
import { couponPoolRoutes } from './coupon-pools.ts'
import { couponRoutes } from './coupons.ts'
import { deadLetterRoutes } from './dead-letters.ts'
import { decisionPreviewRoute } from './decision-preview.ts'
import { decisionStatsRoute } from './decision-stats.ts'
import { decisionRoutes } from './decisions.ts'
import { documentationRoutes } from './documentation.ts'
import { emailDeliveryRoutes } from './email-deliveries.ts'
import { emailPreviewRoutes } from './email-previews.ts'
import { emailTriggerRoutes } from './email-triggers.ts'
import { createErasurePurge } from './erasure-purge.ts'
import { eventDefinitionRoutes } from './event-definitions.ts'
import { eventsRoute } from './events-route.ts'
import { forgetExpired } from './forget-expired.ts'
import { invitationRoutes } from './invitations.ts'
import { linkRoutes } from './links/link-routes.ts'
import { createListEvents } from './list-events.ts'
import { memberRoutes } from './members.ts'
import { meteringSelectorRoutes } from './metering-selectors.ts'
import { ownAccountRoutes } from './own-account.ts'
import { createPasswords } from './passwords.ts'
import { profileRoutes } from './profiles.ts'
import { createProjectRoute } from './project-route.ts'
import { projectRoutes } from './projects.ts'
import { redemptionRoutes } from './redemptions.ts'
import { rejectedEventRoutes } from './rejected-events.ts'
import { createSessions } from './sessions.ts'
import { settingsRoutes } from './settings.ts'
import { signInRoutes } from './sign-in.ts'
import { statsRoutes } from './stats.ts'
import { suppressionRoutes } from './suppressions.ts'
import { tenantRoutes } from './tenants.ts'
import { userRoutes } from './users.ts'

/** `shortLinkBaseUrl`: where short links are answered, as people see it. */
export type ManagementOptions = { shortLinkBaseUrl: string }

/** Reading and managing what a project owns. */
export const createManagementApi = (platform: Platform, { shortLinkBaseUrl }: ManagementOptions): Service => {
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
    purge: createErasurePurge(platform),
    shortLinkBaseUrl: shortLinkBaseUrl.replace(/\/+$/, ''),
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
      ...linkRoutes(deps),
      ...meteringSelectorRoutes(deps),
      ...settingsRoutes(deps),
      ...profileRoutes(deps),
      ...conversionRoutes(deps),
      ...decisionRoutes(deps),
      decisionPreviewRoute(deps),
      decisionStatsRoute(deps),
      ...statsRoutes(deps),
      ...couponPoolRoutes(deps),
      ...couponCsvRoutes(deps),
      ...couponRoutes(deps),
      ...redemptionRoutes(deps),
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
