import { type Static, Type } from 'typebox'

const Day = Type.String({ format: 'date' })
const Count = Type.Integer()

/** Maximum days of statistics. */
export const MAX_STATS_DAYS = 366

export const LinkStatsQuery = Type.Object({
  from: Type.Optional(
    Type.String({ format: 'date', description: 'The first day, in UTC. Default: 30 days.' }),
  ),
  to: Type.Optional(Type.String({ format: 'date', description: 'The last day, in UTC. Default: today.' })),
})
export type LinkStatsQuery = Static<typeof LinkStatsQuery>

const Attributed = Type.Object({
  conversions: Count,
  revenue: Type.Array(
    Type.Object({ currency: Type.String(), amount: Type.Integer({ description: 'In minor units.' }) }),
  ),
})

/** The statistics of a link over some days. */
export const LinkStatsView = Type.Object({
  from: Day,
  to: Day,
  clicks: Type.Integer({ description: 'Clicks without bots and prefetches.' }),
  botClicks: Count,
  uniqueVisitors: Type.Integer({ description: 'A visitor counts once per day.' }),
  days: Type.Array(Type.Object({ day: Day, clicks: Count, botClicks: Count, uniqueVisitors: Count })),
  countries: Type.Array(Type.Object({ country: Type.String(), clicks: Count })),
  devices: Type.Array(Type.Object({ device: Type.String(), clicks: Count })),
  referrers: Type.Array(Type.Object({ referrer: Type.String(), clicks: Count })),
  conversions: Type.Object({
    firstTouch: Attributed,
    lastTouch: Attributed,
  }),
  variants: Type.Array(
    Type.Object({
      key: Type.String(),
      clicks: Count,
      conversions: Type.Object({ firstTouch: Attributed, lastTouch: Attributed }),
    }),
    { description: 'One for each key that the variants of the link have had. Clicks on targets have none.' },
  ),
})
export type LinkStatsView = Static<typeof LinkStatsView>

/** The statistics of the short links of each campaign over some days. */
export const LinkCampaignStatsView = Type.Object({
  from: Day,
  to: Day,
  campaigns: Type.Array(
    Type.Object({
      campaign: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'The current campaign of the links; null for links without one.',
      }),
      links: Type.Integer({ description: 'The number of links, including archived ones.' }),
      clicks: Type.Integer({ description: 'Clicks without bots and prefetches.' }),
      uniqueVisitors: Type.Integer({
        description: 'A visitor counts once per day and link.',
      }),
      conversions: Type.Object({ firstTouch: Attributed, lastTouch: Attributed }),
    }),
    { description: 'The 100 campaigns with the most clicks, highest first.' },
  ),
})
export type LinkCampaignStatsView = Static<typeof LinkCampaignStatsView>
