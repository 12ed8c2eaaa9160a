import type { CardMovementRecord } from '@waymark/contracts/records/card-movement'
import type {
  AlertChange,
  AuditRecord,
  DecisionChange,
  EmailRecord,
  LinkClick,
} from '@waymark/contracts/records/change-records'
import type { CouponRedemptionRecord } from '@waymark/contracts/records/coupon-redemption'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { WebhookTopic } from '@waymark/contracts/webhook'
import { eventKeyOf } from '../ingestion/ingest-record.ts'
import { compileLogic, type LogicData, logicData } from '../logic/compile-logic.ts'
import type { WorkBudget } from '../logic/work-budget.ts'

/** What happened, as webhooks deliver it. */
export type WebhookMessage = {
  projectId: string
  topic: WebhookTopic
  /** The topic, or what it is more exactly, such as `coupon.rolled_back`. */
  type: string
  /** Unique in its topic and project. */
  key: string
  /** The name of the event; null for messages that are not about an event. */
  eventName: string | null
  /** RFC 3339. Webhooks that were activated later do not get it. */
  receivedAt: string
  /** RFC 3339. */
  timestamp: string
  profileId: string | null
  /** Messages of one person have the same key. Null without a person. */
  orderingKey: string | null
  data: Record<string, unknown>
}

/** A webhook that gets messages. */
export type StoredWebhook = {
  id: string
  projectId: string
  version: number
  topics: readonly string[]
  /** Empty: all. */
  eventNames: readonly string[]
  /** JsonLogic; null matches every message. */
  filter: unknown
  activatedAt: Date
}

export type CompiledWebhook = {
  webhook: StoredWebhook
  matches: (data: LogicData, budget: WorkBudget) => boolean
}

/** Compiles the filter of a webhook. @throws Error when it is not valid JsonLogic */
export const compileWebhook = (webhook: StoredWebhook): CompiledWebhook => {
  if (webhook.filter === null) return { webhook, matches: () => true }
  const { evaluate } = compileLogic(webhook.filter)
  return { webhook, matches: (data, budget) => evaluate(data, budget) === 'holds' }
}

/** Whether a webhook of the same project gets a message. A filter that exceeds the budget does not match. */
export const isFor = (
  { projectId, topic, eventName, receivedAt, data }: WebhookMessage,
  { webhook, matches }: CompiledWebhook,
  budget: WorkBudget,
): boolean => {
  if (webhook.projectId !== projectId || !webhook.topics.includes(topic)) return false
  if (webhook.activatedAt.getTime() > Date.parse(receivedAt)) return false
  const { eventNames } = webhook
  if (eventName !== null && eventNames.length > 0 && !eventNames.includes(eventName)) return false
  const event = (topic === 'conversion' ? data.event : data) as Record<string, unknown>
  const about = eventName === null ? {} : { event, properties: event.properties }
  return matches(logicData({ topic, data, ...about }), budget)
}

/** The messages of a stored event: the event itself and one for each conversion. None for a backfill. */
export const eventMessages = ({
  v: _v,
  backfill,
  conversions,
  projectId,
  ...event
}: EnrichedEvent): WebhookMessage[] => {
  if (backfill) return []
  const { eventId, eventName, receivedAt, timestamp, profileId } = event
  const common = {
    projectId,
    eventName,
    receivedAt,
    timestamp,
    profileId,
    orderingKey: orderingKeyOf(event),
  }
  return [
    { ...common, topic: 'event', type: 'event', key: eventKeyOf(eventId), data: event },
    ...conversions.map(
      (conversion): WebhookMessage => ({
        ...common,
        topic: 'conversion',
        type: 'conversion',
        key: eventKeyOf(`${conversion.selectorId}:${eventId}`),
        data: { ...conversion, event },
      }),
    ),
  ]
}

/** The message of a redemption or its rollback. */
export const redemptionMessage = (record: CouponRedemptionRecord): WebhookMessage => {
  const { v: _v, kind, projectId, ...redemption } = record
  return {
    projectId,
    topic: 'coupon.redeemed',
    type: `coupon.${kind}`,
    key: eventKeyOf(redemptionKeyOf(record)),
    eventName: null,
    receivedAt: redemption.at,
    timestamp: redemption.at,
    profileId: redemption.profileId,
    orderingKey: orderingKeyOf(redemption),
    data: redemption,
  }
}

const redemptionKeyOf = ({
  kind,
  redemptionId,
  rolledBackAmount,
  at,
}: Pick<CouponRedemptionRecord, 'redemptionId' | 'rolledBackAmount' | 'at'> & { kind: string }): string => {
  if (kind === 'redeemed' || kind === 'rolled_back') return `${kind}:${redemptionId}`
  // A partial rollback follows another with a larger amount.
  if (kind === 'partially_rolled_back') return `${kind}:${redemptionId}:${rolledBackAmount}`
  return `${kind}:${redemptionId}:${at}`
}

/** The message of a movement of gift cards. */
export const cardMovementMessage = ({
  v: _v,
  kind,
  projectId,
  ...movement
}: CardMovementRecord): WebhookMessage => ({
  ...about(projectId, movement.at),
  topic: 'gift_card.moved',
  type: `gift_card.${kind}`,
  key: movement.movementId,
  profileId: movement.profileId,
  orderingKey: movement.couponId,
  data: movement,
})

/** The message of a click, which names no person. */
export const linkClickMessage = ({ v: _v, projectId, ...click }: LinkClick): WebhookMessage => ({
  projectId,
  topic: 'link.clicked',
  type: 'link.clicked',
  key: click.id,
  eventName: null,
  receivedAt: click.clickedAt,
  timestamp: click.clickedAt,
  profileId: null,
  orderingKey: null,
  data: click,
})

/** The message of a changed decision. Those of one decision keep their order. */
export const decisionMessage = ({ v: _v, projectId, ...change }: DecisionChange): WebhookMessage => ({
  ...about(projectId, change.at),
  topic: 'decision.changed',
  type: OWN_TYPES.has(change.change) ? `decision.${change.change}` : 'decision.changed',
  key: eventKeyOf(decisionKeyOf(change)),
  profileId: null,
  orderingKey: change.decisionId,
  data: change,
})

/** Changes by guards and of what they have stopped, and those of proposals. */
const OWN_TYPES: ReadonlySet<string> = new Set([
  'stopped',
  'advanced',
  'resumed',
  'approved',
  'bypassed',
  'proposed',
  'proposal_edited',
  'proposal_approved',
  'proposal_rejected',
  'proposal_withdrawn',
  'proposal_failed',
])

const decisionKeyOf = ({
  decisionId,
  version,
  proposal,
  change,
  changedBy,
}: Omit<DecisionChange, 'v' | 'projectId'>) =>
  proposal ? `${proposal.id}:${proposal.revision}:${change}:${changedBy.id}` : `${decisionId}:${version}`

/** The message of an email that was sent or has bounced. */
export const emailMessage = ({ v: _v, kind, id, projectId, ...email }: EmailRecord): WebhookMessage => ({
  ...about(projectId, email.at),
  topic: `email.${kind}`,
  type: `email.${kind}`,
  key: id,
  profileId: email.profileId,
  orderingKey: email.profileId,
  data: email,
})

/** The message that an alert began to fire, or that it ended. Those of one alert keep their order. */
export const alertMessage = ({ v: _v, id, projectId, change, ...found }: AlertChange): WebhookMessage => ({
  ...about(projectId, found.at),
  topic: `alert.${change}`,
  type: `alert.${change}`,
  key: id,
  profileId: null,
  orderingKey: found.alertId,
  data: found,
})

/** The message of an entry in the audit log. */
export const auditMessage = ({ v: _v, projectId, ...entry }: AuditRecord): WebhookMessage => ({
  ...about(projectId, entry.at),
  topic: 'audit',
  type: 'audit',
  key: entry.id,
  profileId: null,
  orderingKey: null,
  data: entry,
})

/** What messages have in common that are not about an event. */
const about = (projectId: string, at: string) => ({
  projectId,
  eventName: null,
  receivedAt: at,
  timestamp: at,
})

type Ids = { profileId: string | null; userId: string | null; visitorId: string | null }

const orderingKeyOf = ({ profileId, userId, visitorId }: Ids): string | null => {
  if (profileId !== null) return profileId
  if (userId !== null) return eventKeyOf(`user:${userId}`)
  return visitorId === null ? null : eventKeyOf(`visitor:${visitorId}`)
}
