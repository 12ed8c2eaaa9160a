/** What a trigger is up to: only an active one sends. Archiving is for ever. */
export const emailTriggerStatuses = ['draft', 'active', 'paused', 'archived'] as const
export type EmailTriggerStatus = (typeof emailTriggerStatuses)[number]

/**
 * What became of a delivery. `pending` and `sending` are under way, the others are final:
 * `sent` the mail server took it; `unconfirmed` it was handed over and the server's answer was never seen;
 * `bounced` it came back; `failed` the server refused it for good, or it was tried for too long;
 * `canceled` its trigger was no longer active; the rest never were to be sent.
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

/** Why an address gets no email. */
export const suppressionReasons = ['unsubscribed', 'bounced', 'complained', 'manual'] as const
export type SuppressionReason = (typeof suppressionReasons)[number]

/** An active trigger, as far as deciding takes; what it says is read when it is sent. */
export type EmailTrigger = {
  id: string
  eventName: string
  /** JsonLogic over `{ event, properties }`; null takes every event of that name. */
  filter: unknown
  /** At least this long between two emails to one profile, in seconds; 0 for none. */
  cooldownSeconds: number
  /** RFC 3339; events received before fire nothing. */
  activatedAt: string
}
