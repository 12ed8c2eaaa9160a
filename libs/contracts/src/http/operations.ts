import { accessTokenOperations } from './access-tokens.ts'
import { accountOperations } from './accounts.ts'
import { alertOperations } from './alerts.ts'
import { analyticsOperations } from './analytics.ts'
import { annotationOperations } from './annotations.ts'
import { apiKeyOperations } from './api-keys.ts'
import { auditLogOperations } from './audit-log.ts'
import { backtestOperations } from './backtests.ts'
import { codeReferenceOperations } from './code-references.ts'
import { conversionOperations } from './conversions.ts'
import { couponOperations } from './coupon-operations.ts'
import { couponPoolOperations } from './coupon-pools.ts'
import { managedCouponOperations } from './coupons.ts'
import { deadLetterOperations } from './dead-letters.ts'
import { decideOperations } from './decide.ts'
import { decisionOperations } from './decisions.ts'
import { documentationOperations } from './documentation.ts'
import { emailDeliveryOperations } from './email-deliveries.ts'
import { emailFeedbackOperations } from './email-feedback.ts'
import { emailSenderOperations } from './email-senders.ts'
import { emailTriggerOperations } from './email-triggers.ts'
import { environmentOperations } from './environments.ts'
import { erasureOperations } from './erasures.ts'
import { eventDefinitionOperations } from './event-definitions.ts'
import { eventOperations } from './events.ts'
import { giftCardOperations } from './gift-cards.ts'
import { holdOperations } from './holds.ts'
import { ingestionOperations } from './ingestion-operations.ts'
import { insightOperations } from './insights.ts'
import { invitationOperations } from './invitations.ts'
import { linkDomainOperations } from './link-domains.ts'
import { linkOperations } from './links.ts'
import { loyaltyOperations } from './loyalty.ts'
import { mcpOperations } from './mcp.ts'
import { memberOperations } from './members.ts'
import { meteringSelectorOperations } from './metering-selectors.ts'
import { oidcOperations } from './oidc.ts'
import type { Operation } from './operation.ts'
import { postHogOperations } from './posthog-protocol.ts'
import { profileOperations } from './profile-view.ts'
import { projectOperations } from './projects.ts'
import { promotionOperations } from './promotions.ts'
import { proposalOperations } from './proposals.ts'
import { redemptionOperations } from './redemptions.ts'
import { rejectedEventOperations } from './rejected-events.ts'
import { secondFactorOperations } from './second-factor.ts'
import { segmentOperations } from './segment-protocol.ts'
import { segmentsOperations } from './segments.ts'
import { settingsOperations } from './settings.ts'
import { shareOperations } from './shares.ts'
import { statsOperations } from './stats.ts'
import { subscriptionOperations } from './subscriptions.ts'
import { suppressionOperations } from './suppressions.ts'
import { tenantOperations } from './tenants.ts'
import { webAnalyticsOperations } from './web-analytics.ts'
import { webhookOperations } from './webhooks.ts'

/** All operations, in the order of the documentation. */
export const operations: readonly Operation[] = [
  ...ingestionOperations,
  ...segmentOperations,
  ...postHogOperations,
  ...accountOperations,
  ...accessTokenOperations,
  ...secondFactorOperations,
  ...oidcOperations,
  ...projectOperations,
  ...memberOperations,
  ...invitationOperations,
  ...tenantOperations,
  ...auditLogOperations,
  ...eventOperations,
  ...profileOperations,
  ...erasureOperations,
  ...conversionOperations,
  ...statsOperations,
  ...analyticsOperations,
  ...webAnalyticsOperations,
  ...insightOperations,
  ...annotationOperations,
  ...alertOperations,
  ...subscriptionOperations,
  ...shareOperations,
  ...couponOperations,
  ...promotionOperations,
  ...holdOperations,
  ...couponPoolOperations,
  ...managedCouponOperations,
  ...redemptionOperations,
  ...giftCardOperations,
  ...loyaltyOperations,
  ...apiKeyOperations,
  ...eventDefinitionOperations,
  ...meteringSelectorOperations,
  ...linkOperations,
  ...linkDomainOperations,
  ...settingsOperations,
  ...decideOperations,
  ...decisionOperations,
  ...proposalOperations,
  ...codeReferenceOperations,
  ...backtestOperations,
  ...environmentOperations,
  ...segmentsOperations,
  ...rejectedEventOperations,
  ...deadLetterOperations,
  ...documentationOperations,
  ...mcpOperations,
  ...emailTriggerOperations,
  ...emailDeliveryOperations,
  ...suppressionOperations,
  ...emailFeedbackOperations,
  ...emailSenderOperations,
  ...webhookOperations,
]
