import type { Static, TSchema } from 'typebox'
import { CardMovementRecord } from './records/card-movement.ts'
import {
  AlertChange,
  AuditRecord,
  ChangedProfile,
  DecisionChange,
  EmailRecord,
  Exposure,
  LinkClick,
} from './records/change-records.ts'
import { CouponRedemptionRecord } from './records/coupon-redemption.ts'
import { EnrichedEvent } from './records/enriched-event.ts'
import { QueuedRecord } from './records/ingest-record.ts'
import { DeadLetter, RejectedEvent } from './records/quarantine-records.ts'
import { compileValidator, type Validator } from './validator.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** A topic and the schema of its records. Records with the same key keep their order. */
export type Topic<T> = {
  readonly name: string
  readonly validator: Validator<T>
  /** Retention of records, in ms. At most 7 days for personal data. */
  readonly retentionMs: number
  /** Maximum size of a record batch, in bytes. */
  readonly maxMessageBytes: number
}

const defineTopic = <S extends TSchema>(
  name: string,
  schema: S,
  { retentionMs = 7 * DAY_MS, maxMessageBytes = 1_048_588 } = {},
): Topic<Static<S>> => ({
  name,
  validator: compileValidator(schema, { showReceived: false }),
  retentionMs,
  maxMessageBytes,
})

export const ingestRecords = defineTopic('ingest.records.v1', QueuedRecord)
export const rejectedEvents = defineTopic('ingest.rejected.v1', RejectedEvent)
export const enrichedEvents = defineTopic('events.enriched.v1', EnrichedEvent)
export const couponsRedeemed = defineTopic('coupons.redeemed.v1', CouponRedemptionRecord)
export const cardMovements = defineTopic('gift-cards.moved.v1', CardMovementRecord)
export const linkClicks = defineTopic('links.clicked.v1', LinkClick)
export const exposures = defineTopic('decisions.exposed.v1', Exposure)
export const changedProfiles = defineTopic('profiles.changed.v1', ChangedProfile)
export const decisionChanges = defineTopic('decisions.changed.v1', DecisionChange)
export const sentEmails = defineTopic('emails.sent.v1', EmailRecord)
export const alertChanges = defineTopic('alerts.changed.v1', AlertChange)
export const auditRecords = defineTopic('audit.recorded.v1', AuditRecord)
/** Larger, because a dead letter contains another record in base64. */
export const deadLetters = defineTopic('dead-letters.v1', DeadLetter, { maxMessageBytes: 4 * 1024 * 1024 })

/** The consumers of a topic that share its partitions. */
export type ConsumerGroup = { readonly group: string; readonly topic: Topic<unknown> }

/** The consumer groups of the pipeline. */
export const consumerGroups = {
  enrichment: { group: 'enrichment', topic: ingestRecords },
  events: { group: 'persistence', topic: enrichedEvents },
  rejected: { group: 'persistence-rejected', topic: rejectedEvents },
  clicks: { group: 'persistence-clicks', topic: linkClicks },
  exposures: { group: 'persistence-exposures', topic: exposures },
  profiles: { group: 'persistence-profiles', topic: changedProfiles },
  deadLetters: { group: 'persistence-dead-letters', topic: deadLetters },
  email: { group: 'email', topic: enrichedEvents },
  webhooks: { group: 'webhooks', topic: enrichedEvents },
  webhookRedemptions: { group: 'webhooks-redemptions', topic: couponsRedeemed },
  webhookGiftCards: { group: 'webhooks-gift-cards', topic: cardMovements },
  webhookClicks: { group: 'webhooks-clicks', topic: linkClicks },
  webhookDecisions: { group: 'webhooks-decisions', topic: decisionChanges },
  webhookEmails: { group: 'webhooks-emails', topic: sentEmails },
  webhookAlerts: { group: 'webhooks-alerts', topic: alertChanges },
  webhookAudit: { group: 'webhooks-audit', topic: auditRecords },
} as const

/** All topics. */
export const topics: readonly Topic<unknown>[] = [
  ingestRecords,
  rejectedEvents,
  enrichedEvents,
  couponsRedeemed,
  cardMovements,
  linkClicks,
  exposures,
  changedProfiles,
  decisionChanges,
  sentEmails,
  alertChanges,
  auditRecords,
  deadLetters,
]
