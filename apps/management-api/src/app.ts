import { createAllowedSenders } from '@waymark/pipeline'
import type { Platform, Service } from '@waymark/service-kit'
import { Router } from 'express'
import { accessTokenRoutes } from './accounts/access-tokens.ts'
import { createAccountLimits } from './accounts/account-limits.ts'
import { passwordResetLoop } from './accounts/account-mails.ts'
import { ownAccountRoutes } from './accounts/own-account.ts'
import { createPasswords } from './accounts/passwords.ts'
import { recoverAccountRoutes } from './accounts/recover-account.ts'
import { secondFactorRoutes } from './accounts/second-factor-routes.ts'
import { createSessions, forgetExpired } from './accounts/session-queries.ts'
import { signInRoutes } from './accounts/sign-in.ts'
import { tenantRoutes } from './accounts/tenants.ts'
import { userRoutes } from './accounts/users.ts'
import { alertRoutes } from './alerts/alerts.ts'
import { evaluateAlerts } from './alerts/evaluate-alerts.ts'
import { analyticsRoutes } from './analytics/analytics-routes.ts'
import { dashboardRoutes } from './analytics/dashboards.ts'
import { insightRoutes } from './analytics/insights.ts'
import { createRunList, createRunQuery } from './analytics/run-queries.ts'
import { annotationRoutes } from './annotations/annotations.ts'
import { apiKeyRoutes } from './api-keys/api-keys.ts'
import { createAuditLog } from './audit/audit-log.ts'
import { auditLogRoute } from './audit/list-audit-log.ts'
import { eventDefinitionRoutes } from './catalog/event-definitions.ts'
import { meteringSelectorRoutes } from './catalog/metering-selectors.ts'
import type { RegistrationMode } from './config.ts'
import { couponCsvRoutes } from './coupons/coupon-csv.ts'
import { couponPoolRoutes } from './coupons/coupon-pools.ts'
import { couponRoutes } from './coupons/coupons.ts'
import { giftCardRoutes } from './coupons/gift-cards.ts'
import { poolBacktestRoute } from './coupons/pool-backtest.ts'
import { redemptionRoutes } from './coupons/redemptions.ts'
import { applyProposals } from './decisions/apply-proposals.ts'
import { codeReferenceRoutes } from './decisions/code-references.ts'
import { decisionBacktestRoute } from './decisions/decision-backtest.ts'
import { decisionPreviewRoute } from './decisions/decision-preview.ts'
import { decisionResultsRoute } from './decisions/decision-results.ts'
import { decisionStatsRoute } from './decisions/decision-stats.ts'
import { decisionRoutes } from './decisions/decisions.ts'
import { evaluateGuards } from './decisions/guards.ts'
import { proposalRoutes } from './decisions/proposals.ts'
import { applyScheduledChanges, scheduledChangeRoutes } from './decisions/scheduled-changes.ts'
import { reportStaleDecisions } from './decisions/stale-report.ts'
import { emailDeliveryRoutes } from './email/email-deliveries.ts'
import { emailPreviewRoutes } from './email/email-previews.ts'
import { emailSenderRoutes } from './email/email-senders.ts'
import { emailTriggerBacktestRoute } from './email/email-trigger-backtest.ts'
import { emailTriggerRoutes } from './email/email-triggers.ts'
import { suppressionRoutes } from './email/suppressions.ts'
import { environmentRoutes } from './environments/environments.ts'
import { conversionRoutes } from './events/conversions.ts'
import { deadLetterRoutes } from './events/dead-letters.ts'
import { eventsRoute } from './events/events.ts'
import { exportEventsRoute } from './events/export-events.ts'
import { rejectedEventRoutes } from './events/rejected-events.ts'
import { streamEventsRoute } from './events/stream-events.ts'
import { createAccountRoutes } from './http/account-route.ts'
import { checkingCallers } from './http/caller-queries.ts'
import { createExports } from './http/exports.ts'
import { createProjectRoute } from './http/project-route.ts'
import { linkDomainRoutes } from './links/link-domains.ts'
import { linkRoutes } from './links/link-routes.ts'
import { programmeRoutes } from './loyalty/loyalty-programmes.ts'
import { pointRoutes } from './loyalty/points.ts'
import type { ManagementDeps } from './management-deps.ts'
import { mcpRoutes } from './mcp/mcp-routes.ts'
import { backChannelLogoutRoute } from './oidc/back-channel-logout.ts'
import { createTxtResolver, type ResolveTxt } from './oidc/domains.ts'
import { identityRoutes } from './oidc/identity-routes.ts'
import { forgetSignIns } from './oidc/pending-sign-in-queries.ts'
import { createProviderClients, type ProviderClientOptions } from './oidc/provider-clients.ts'
import { oidcProviderRoutes } from './oidc/provider-routes.ts'
import { signInPolicyRoutes } from './oidc/sign-in-policy-routes.ts'
import { oidcSignInRoutes } from './oidc/sign-in-routes.ts'
import { tenantDomainRoutes } from './oidc/tenant-domain-routes.ts'
import { consoleRoutes } from './pages/console.ts'
import { documentationRoutes } from './pages/documentation.ts'
import { indexRoute, type ProcessInfo } from './pages/index-page.ts'
import { type ErasureOptions, erasureRoutes } from './profiles/erasures.ts'
import { createErasurePurge, profileRoutes } from './profiles/profiles.ts'
import { demoDataRoutes } from './projects/demo-data.ts'
import { createInvitationClaims } from './projects/invitation-claims.ts'
import { acceptInvitationRoute, invitationRoutes } from './projects/invitations.ts'
import { memberRoutes } from './projects/members.ts'
import { projectRoutes } from './projects/projects.ts'
import { settingsRoutes } from './projects/settings.ts'
import type { Quotas } from './quotas.ts'
import { segmentRoutes } from './segments/segments.ts'
import { createShareAccess } from './shares/share-access.ts'
import { sharedRoutes } from './shares/shared-routes.ts'
import { shareRoutes } from './shares/shares.ts'
import { deliveryStatsRoute } from './stats/delivery-stats.ts'
import { pipelineStatsRoute } from './stats/pipeline-stats.ts'
import { statsRoutes } from './stats/stats.ts'
import { reportSubscriptions } from './subscriptions/report-subscriptions.ts'
import { subscriptionRoutes } from './subscriptions/subscriptions.ts'
import { addressWebhookNotices } from './webhooks/address-notices.ts'
import { webhookDeliveryRoutes } from './webhooks/webhook-deliveries.ts'
import { webhookRoutes } from './webhooks/webhooks.ts'

const DEFAULT_PROCESS: ProcessInfo = { apps: ['management-api'], metricsPort: 0 }

export {
  erasuresConfig,
  oidcConfig,
  quotasConfig,
  type RegistrationMode,
  registrationModes,
} from './config.ts'

export type ManagementOptions = {
  /** Public address of short links. */
  shortLinkBaseUrl: string
  quotas: Quotas
  registrationMode: RegistrationMode
  /** Public address of this installation, to which providers send browsers back. */
  publicUrl: string
  oidc: ProviderClientOptions & { resolveTxt?: ResolveTxt }
  erasures: ErasureOptions
  processInfo?: ProcessInfo
  /** Addresses and domains that every project may send emails from. */
  allowedSenders: readonly string[]
}

/** The API with which people and keys read and manage accounts and projects. */
export const createManagementApi = (
  platform: Platform,
  {
    shortLinkBaseUrl,
    allowedSenders,
    publicUrl,
    erasures,
    oidc: { resolveTxt = createTxtResolver(), ...clientOptions },
    processInfo = DEFAULT_PROCESS,
    ...options
  }: ManagementOptions,
): Service => {
  const sessions = createSessions(platform)
  const auditLog = createAuditLog(platform)
  const deps: ManagementDeps = {
    ...platform,
    ...options,
    db: checkingCallers(platform.db),
    sessions,
    auditLog,
    exports: createExports(),
    passwords: createPasswords({ queue: platform.passwordQueue }),
    accountLimits: createAccountLimits(platform),
    invitationClaims: createInvitationClaims(platform),
    isAllowedSender: createAllowedSenders(platform.db.pool, allowedSenders),
    accountRoutes: createAccountRoutes({ ...platform, sessions }),
    projectRoute: createProjectRoute({ ...platform, sessions, auditLog }),
    purge: createErasurePurge(platform),
    // One for all routes: a project's queries are counted together.
    runQuery: createRunQuery(platform.eventStore),
    runList: createRunList(platform.eventStore),
    shortLinkBaseUrl: shortLinkBaseUrl.replace(/\/+$/, ''),
    resolveTxt,
  }
  const publicAddress = publicUrl.replace(/\/+$/, '')
  const shareAccess = createShareAccess(platform)
  const withOidc = {
    ...deps,
    oidc: {
      clients: createProviderClients(clientOptions),
      resolveTxt,
      publicUrl: publicAddress,
    },
  }
  return {
    router: Router(),
    routes: [
      ...signInRoutes(deps),
      ...ownAccountRoutes(deps),
      ...recoverAccountRoutes(deps),
      ...accessTokenRoutes(deps),
      ...secondFactorRoutes(deps),
      ...oidcSignInRoutes(withOidc),
      backChannelLogoutRoute(withOidc),
      ...identityRoutes(deps),
      ...oidcProviderRoutes(withOidc),
      ...tenantDomainRoutes(withOidc),
      ...signInPolicyRoutes(deps),
      ...mcpRoutes(deps),
      ...projectRoutes(deps),
      ...demoDataRoutes(deps),
      ...memberRoutes(deps),
      ...invitationRoutes(deps),
      acceptInvitationRoute(deps),
      ...tenantRoutes(deps),
      ...userRoutes(deps),
      auditLogRoute(deps),
      eventsRoute(deps),
      exportEventsRoute(deps),
      streamEventsRoute(deps),
      ...apiKeyRoutes(deps),
      ...eventDefinitionRoutes(deps),
      ...linkRoutes(deps),
      ...linkDomainRoutes(deps),
      ...meteringSelectorRoutes(deps),
      ...settingsRoutes(deps),
      ...profileRoutes(deps),
      ...erasureRoutes({ ...deps, publicUrl: publicAddress, erasures }),
      ...conversionRoutes(deps),
      ...decisionRoutes(deps),
      ...scheduledChangeRoutes(deps),
      ...proposalRoutes(deps),
      ...codeReferenceRoutes(deps),
      ...environmentRoutes(deps),
      decisionPreviewRoute(deps),
      decisionBacktestRoute(deps),
      decisionStatsRoute(deps),
      decisionResultsRoute(deps),
      ...segmentRoutes(deps),
      ...statsRoutes(deps),
      pipelineStatsRoute(deps),
      deliveryStatsRoute(deps),
      ...annotationRoutes(deps),
      ...alertRoutes(deps),
      ...subscriptionRoutes(deps),
      ...analyticsRoutes(deps),
      ...insightRoutes(deps),
      ...dashboardRoutes(deps),
      ...shareRoutes({ ...deps, publicUrl: publicAddress }),
      ...sharedRoutes({ ...deps, shareAccess }),
      ...couponPoolRoutes(deps),
      poolBacktestRoute(deps),
      ...couponCsvRoutes(deps),
      ...couponRoutes(deps),
      ...redemptionRoutes(deps),
      ...giftCardRoutes(deps),
      ...programmeRoutes(deps),
      ...pointRoutes(deps),
      ...rejectedEventRoutes(deps),
      ...deadLetterRoutes(deps),
      ...emailTriggerRoutes(deps),
      emailTriggerBacktestRoute(deps),
      ...emailSenderRoutes(deps),
      ...emailPreviewRoutes(deps),
      ...emailDeliveryRoutes(deps),
      ...suppressionRoutes(deps),
      ...webhookRoutes(deps),
      ...webhookDeliveryRoutes(deps),
      indexRoute(processInfo),
      ...consoleRoutes(shareAccess),
      ...documentationRoutes(),
    ],
    loops: [
      forgetExpired(deps),
      forgetSignIns(deps),
      passwordResetLoop(deps),
      addressWebhookNotices(deps),
      applyScheduledChanges(deps),
      applyProposals(deps),
      evaluateGuards(deps),
      reportStaleDecisions(deps),
      ...evaluateAlerts({ ...deps, publicUrl: publicAddress }),
      ...reportSubscriptions({ ...deps, publicUrl: publicAddress }),
    ],
  }
}
