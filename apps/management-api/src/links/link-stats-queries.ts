import {
  type LinkCampaignStatsView,
  type LinkStatsQuery,
  type LinkStatsView,
  MAX_STATS_DAYS,
} from '@waymark/contracts/http/link-stats'
import type { Pool } from 'pg'
import { unprocessable } from '../http/validation.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const DEFAULT_DAYS = 30
const MAX_VALUES = 100

const DAYS = `
  SELECT day, clicks, bot_clicks, unique_visitors FROM link.daily_counts
  WHERE link_id = $1 AND day BETWEEN $2 AND $3 ORDER BY day`
const BREAKDOWNS = `
  SELECT dimension, value, clicks FROM (
    SELECT dimension, value, sum(clicks) AS clicks,
      row_number() OVER (PARTITION BY dimension ORDER BY sum(clicks) DESC, value) AS place
    FROM link.daily_breakdowns WHERE link_id = $1 AND day BETWEEN $2 AND $3 GROUP BY dimension, value
  ) ranked WHERE place <= ${MAX_VALUES} ORDER BY place`
const CONVERSIONS = `
  SELECT touch, currency, sum(conversions) AS conversions, sum(revenue) AS revenue FROM link.daily_conversions
  WHERE link_id = $1 AND day BETWEEN $2 AND $3 GROUP BY touch, currency HAVING sum(conversions) > 0 ORDER BY currency`

const VARIANT_CONVERSIONS = `
  SELECT variant, touch, currency, sum(conversions) AS conversions, sum(revenue) AS revenue
  FROM link.daily_variant_conversions
  WHERE link_id = $1 AND day BETWEEN $2 AND $3 GROUP BY variant, touch, currency
  HAVING sum(conversions) > 0 ORDER BY currency`

// One statement, so that all figures are from one snapshot.
const STATS = `
  SELECT (SELECT coalesce(jsonb_agg(d), '[]') FROM (${DAYS}) d) AS days,
    (SELECT coalesce(jsonb_agg(b), '[]') FROM (${BREAKDOWNS}) b) AS breakdowns,
    (SELECT coalesce(jsonb_agg(c), '[]') FROM (${CONVERSIONS}) c) AS conversions,
    (SELECT coalesce(jsonb_agg(v), '[]') FROM (${VARIANT_CONVERSIONS}) v) AS variant_conversions,
    (SELECT variant_keys FROM link.links WHERE id = $1) AS variant_keys`

type Row = {
  days: { day: string; clicks: number; bot_clicks: number; unique_visitors: number }[]
  breakdowns: { dimension: 'country' | 'device' | 'referrer' | 'variant'; value: string; clicks: number }[]
  conversions: ConversionRow[]
  variant_conversions: (ConversionRow & { variant: string })[]
  variant_keys: string[] | null
}
type ConversionRow = {
  touch: 'first' | 'last'
  currency: string
  conversions: number
  revenue: number
}
type Period = { from: string; to: string }

/** The first and last day of the requested statistics. @throws AppError unprocessable when they are not usable */
export const periodOf = ({ from, to }: LinkStatsQuery, now: Date): Period => {
  const last = to ?? dayOf(now.getTime())
  const first = from ?? dayOf(Date.parse(last) - (DEFAULT_DAYS - 1) * DAY_MS)
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1
  if (days < 1) throw unprocessable('to', 'range', 'must not be before from')
  if (days > MAX_STATS_DAYS)
    throw unprocessable('from', 'range', `must not be more than ${MAX_STATS_DAYS} days before to`)
  return { from: first, to: last }
}

/** The figures of a link over some days. Reads only counts, so the time does not depend on the number of clicks. */
export const readLinkStats = async (
  pool: Pool,
  linkId: string,
  { from, to }: Period,
): Promise<LinkStatsView> => {
  const { rows } = await pool.query<Row>({ name: 'link-stats', text: STATS, values: [linkId, from, to] })
  const [row = NO_ROW] = rows
  const { days, breakdowns, conversions, variant_conversions: ofVariants } = row
  const byDay = days.map(({ day, clicks, bot_clicks, unique_visitors }) => ({
    day,
    clicks,
    botClicks: bot_clicks,
    uniqueVisitors: unique_visitors,
  }))
  const sum = (of: (day: (typeof byDay)[number]) => number) =>
    byDay.reduce((total, day) => total + of(day), 0)
  const by = (dimension: Row['breakdowns'][number]['dimension']) =>
    breakdowns.filter((row) => row.dimension === dimension)
  return {
    from,
    to,
    clicks: sum(({ clicks }) => clicks),
    botClicks: sum(({ botClicks }) => botClicks),
    uniqueVisitors: sum(({ uniqueVisitors }) => uniqueVisitors),
    days: byDay,
    countries: by('country').map(({ value: country, clicks }) => ({ country, clicks })),
    devices: by('device').map(({ value: device, clicks }) => ({ device, clicks })),
    referrers: by('referrer').map(({ value: referrer, clicks }) => ({ referrer, clicks })),
    conversions: attributedConversions(conversions),
    variants: (row.variant_keys ?? []).map((key) => ({
      key,
      clicks: by('variant').find(({ value }) => value === key)?.clicks ?? 0,
      conversions: attributedConversions(ofVariants.filter(({ variant }) => variant === key)),
    })),
  }
}

const NO_ROW: Row = {
  days: [],
  breakdowns: [],
  conversions: [],
  variant_conversions: [],
  variant_keys: [],
}

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
const CAMPAIGN_CONVERSIONS = `
  SELECT l.campaign, c.touch, c.currency, sum(c.conversions) AS conversions, sum(c.revenue) AS revenue
  FROM link.daily_conversions c JOIN link.links l ON l.id = c.link_id
  WHERE l.project_id = $1 AND c.day BETWEEN $2 AND $3
  GROUP BY l.campaign, c.touch, c.currency HAVING sum(c.conversions) > 0 ORDER BY c.currency`

// One statement, so that all figures are from one snapshot.
const CAMPAIGN_STATS = `
  SELECT (SELECT coalesce(jsonb_agg(p), '[]') FROM (${CAMPAIGNS}) p) AS campaigns,
    (SELECT coalesce(jsonb_agg(c), '[]') FROM (${CAMPAIGN_CONVERSIONS}) c) AS conversions`

type CampaignRow = {
  campaigns: { campaign: string | null; links: number; clicks: number; unique_visitors: number }[]
  conversions: (ConversionRow & { campaign: string | null })[]
}

/** The figures of a project's links by campaign over some days. Reads only counts, as `readLinkStats` does. */
export const readCampaignStats = async (
  pool: Pool,
  projectId: string,
  { from, to }: Period,
): Promise<LinkCampaignStatsView> => {
  const { rows } = await pool.query<CampaignRow>({
    name: 'link-campaigns',
    text: CAMPAIGN_STATS,
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

/** Conversions and revenue by first and by last touch. */
const attributedConversions = (rows: readonly ConversionRow[]): LinkStatsView['conversions'] => {
  const attributed = (touch: ConversionRow['touch']) => {
    const found = rows.filter((row) => row.touch === touch)
    return {
      conversions: found.reduce((total, row) => total + row.conversions, 0),
      revenue: found
        .filter(({ currency }) => currency !== '')
        .map(({ currency, revenue: amount }) => ({ currency, amount })),
    }
  }
  return { firstTouch: attributed('first'), lastTouch: attributed('last') }
}

const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)
