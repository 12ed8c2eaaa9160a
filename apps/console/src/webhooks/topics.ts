/** What a webhook can deliver, with the description of each topic. */
export const TOPICS = [
  ['event', 'Events'],
  ['conversion', 'Conversions'],
  ['link.clicked', 'Clicks on short links'],
  ['gift_card.moved', 'Movements of gift cards'],
  ['coupon.redeemed', 'Redemptions of coupons, and their rollbacks'],
  ['decision.changed', 'Changes of decisions'],
  ['email.sent', 'Emails that were sent'],
  ['email.bounced', 'Emails that bounced'],
  ['alert.fired', 'Alerts that begin to fire'],
  ['alert.resolved', 'Alerts that end to fire'],
  ['audit', 'Entries of the audit log'],
] as const

export type Topic = (typeof TOPICS)[number][0]
