import type { LinkCampaignStatsView } from '@waymark/contracts'
import type { Pool } from 'pg'
import { attributedConversions, type ConversionRow, type Period } from './link-stats.ts'

const MAX_CAMPAIGNS = 100

const CAMPAIGNS = `
  SELECT l.campaign, count(*) AS links, coalesce(sum(d.clicks), 0) AS clicks,
    coalesce(sum(d.unique_visitors), 0) AS unique_visitors
  FROM link.links l LEFT JOIN (
    SELECT link_id, sum(clicks) AS clicks, sum(unique_visitors) AS unique_visitors
    FROM link.daily_counts WHERE day BETWEEN $2 AND $3 AND link_id IN (SELECT id FROM link.links WHERE project_id = $1)
    GROUP BY link_id
  ) d ON d.link_id = l.id
  WHERE l.project_id = $1 GROUP BY l.campaign ORDER BY clicks DESC, links DESC, l.campaign LIMIT ${MAX_CAMPAIGNS}`
const CONVERSIONS = `
  SELECT l.campaign, c.touch, c.currency, sum(c.conversions) AS conversions, sum(c.revenue) AS revenue
  FROM link.daily_conversions c JOIN link.links l ON l.id = c.link_id
  WHERE l.project_id = $1 AND c.day BETWEEN $2 AND $3
  GROUP BY l.campaign, c.touch, c.currency HAVING sum(c.conversions) > 0 ORDER BY c.currency`

// One statement, so that all figures are from one snapshot.
const STATS = `
  SELECT (SELECT coalesce(jsonb_agg(p), '[]') FROM (${CAMPAIGNS}) p) AS campaigns,
    (SELECT coalesce(jsonb_agg(c), '[]') FROM (${CONVERSIONS}) c) AS conversions`

type Row = {
  campaigns: { campaign: string | null; links: number; clicks: number; unique_visitors: number }[]
  conversions: (ConversionRow & { campaign: string | null })[]
}

/** The figures of a project's links by campaign over some days. Reads only counts, as `readLinkStats` does. */
export const readCampaignStats = async (
  pool: Pool,
  projectId: string,
  { from, to }: Period,
): Promise<LinkCampaignStatsView> => {
  const { rows } = await pool.query<Row>({
    name: 'link-campaigns',
    text: STATS,
    values: [projectId, from, to],
  })
  const { campaigns, conversions } = rows[0] ?? { campaigns: [], conversions: [] }
  return {
    from,
    to,
    campaigns: campaigns.map(({ campaign, links, clicks, unique_visitors: uniqueVisitors }) => ({
      campaign,
      links,
      clicks,
      uniqueVisitors,
      conversions: attributedConversions(conversions.filter((row) => row.campaign === campaign)),
    })),
  }
}
