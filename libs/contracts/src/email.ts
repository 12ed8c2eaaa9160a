/** The status of a trigger. Only an active one sends emails. Archiving is final. */
export const emailTriggerStatuses = ['draft', 'active', 'paused', 'archived'] as const

/**
 * The status of a delivery. `pending` and `sending` are in progress, the others are final:
 * `sent`: the mail server accepted it; `unconfirmed`: it was handed over, but the server's response is unknown;
 * `bounced`: it was returned; `failed`: the server rejected it permanently, or the retries took too long;
 * `canceled`: its trigger was no longer active; the remaining ones were never to be sent.
 */
export const emailDeliveryStatuses = [
  'pending',
  'sending',
  'sent',
  'unconfirmed',
  'bounced',
  'failed',
  'canceled',
  'skipped_no_email',
  'suppressed',
  'cooldown',
] as const
export type EmailDeliveryStatus = (typeof emailDeliveryStatuses)[number]

/** Why an address receives no emails. */
export const suppressionReasons = ['unsubscribed', 'bounced', 'complained', 'manual'] as const
export type SuppressionReason = (typeof suppressionReasons)[number]

/** The data of an active trigger for creating deliveries. The templates are read when an email is sent. */
export type EmailTrigger = {
  id: string
  eventName: string
  /** JsonLogic over `{ event, properties }`; null matches every event with the name. */
  filter: unknown
  /** Minimum time between two emails to one profile, in seconds; 0 for none. */
  cooldownSeconds: number
  /** RFC 3339. Events received before do not trigger emails. */
  activatedAt: string
}
