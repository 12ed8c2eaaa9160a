/** What a webhook can deliver, with the description of each topic. */
export const TOPICS = [
  ['event', 'Events'],
  ['conversion', 'Conversions'],
  ['link.clicked', 'Clicks on short links'],
  ['coupon.redeemed', 'Redemptions of coupons, and their rollbacks'],
] as const

export type Topic = (typeof TOPICS)[number][0]
