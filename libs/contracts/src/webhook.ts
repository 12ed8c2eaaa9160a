/** What a webhook can deliver. */
export const webhookTopics = [
  'event',
  'conversion',
  'link.clicked',
  'coupon.redeemed',
  'gift_card.moved',
  'decision.changed',
  'email.sent',
  'email.bounced',
  'alert.fired',
  'alert.resolved',
  'audit',
] as const
export type WebhookTopic = (typeof webhookTopics)[number]

/** The status of a webhook. Only an active one gets messages. */
export const webhookStatuses = ['active', 'paused'] as const

/**
 * The status of a delivery. `delivered`: the endpoint answered 2xx; `failed`: it did not within 3 days.
 */
export const webhookDeliveryStatuses = ['pending', 'delivered', 'failed'] as const

/** The state of a replay. `limited`: it has queued as many deliveries as a replay may. */
export const webhookReplayStates = ['running', 'finished', 'limited', 'canceled'] as const

/** Deliveries that one replay sends again. */
export const MAX_REPLAYED_DELIVERIES = 100_000

/** The longest part of a response body that is stored, in bytes. */
export const MAX_WEBHOOK_RESPONSE_BYTES = 2_048
