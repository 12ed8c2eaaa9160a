import { type Static, Type } from 'typebox'

const Day = Type.String({ format: 'date' })
const Count = Type.Integer()

/** Maximum days of statistics. */
export const MAX_STATS_DAYS = 366

export const LinkStatsQuery = Type.Object({
  from: Type.Optional(
    Type.String({ format: 'date', description: 'First day, in UTC; 30 days unless given.' }),
  ),
  to: Type.Optional(Type.String({ format: 'date', description: 'Last day, in UTC; today unless given.' })),
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
  clicks: Type.Integer({ description: 'Without bots and prefetches.' }),
  botClicks: Count,
  uniqueVisitors: Type.Integer({ description: 'A visitor of several days counts once on each.' }),
  days: Type.Array(Type.Object({ day: Day, clicks: Count, botClicks: Count, uniqueVisitors: Count })),
  countries: Type.Array(Type.Object({ country: Type.String(), clicks: Count })),
  devices: Type.Array(Type.Object({ device: Type.String(), clicks: Count })),
  referrers: Type.Array(Type.Object({ referrer: Type.String(), clicks: Count })),
  conversions: Type.Object({
    firstTouch: Attributed,
    lastTouch: Attributed,
  }),
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
        description: 'The campaign that the links have now; null for links without one.',
      }),
      links: Type.Integer({ description: 'Links of the campaign, archived ones too.' }),
      clicks: Type.Integer({ description: 'Without bots and prefetches.' }),
      uniqueVisitors: Type.Integer({
        description: 'A visitor of several days or links counts once on each.',
      }),
      conversions: Type.Object({ firstTouch: Attributed, lastTouch: Attributed }),
    }),
    { description: 'The 100 with the most clicks, those first.' },
  ),
})
export type LinkCampaignStatsView = Static<typeof LinkCampaignStatsView>
