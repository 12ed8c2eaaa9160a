import { type LinkStatsQuery, type LinkStatsView, MAX_STATS_DAYS } from '@waymark/contracts'
import type { Pool } from 'pg'
import { unprocessable } from '../validation.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const DEFAULT_DAYS = 30
const MAX_VALUES = 100

const DAYS = `
  SELECT day::text, clicks, bot_clicks, unique_visitors FROM link.daily_counts
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

type DayRow = { day: string; clicks: string; bot_clicks: string; unique_visitors: string }
type BreakdownRow = { dimension: 'country' | 'device' | 'referrer'; value: string; clicks: string }
type ConversionRow = { touch: 'first' | 'last'; currency: string; conversions: string; revenue: string }
export type Period = { from: string; to: string }

/** The days that statistics are asked for, both included. @throws AppError unprocessable when they are not usable */
export const periodOf = ({ from, to }: LinkStatsQuery, now: Date): Period => {
  const last = to ?? dayOf(now.getTime())
  const first = from ?? dayOf(Date.parse(last) - (DEFAULT_DAYS - 1) * DAY_MS)
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1
  if (days < 1) throw unprocessable('to', 'range', 'must not be before from')
  if (days > MAX_STATS_DAYS)
    throw unprocessable('from', 'range', `must not be more than ${MAX_STATS_DAYS} days before to`)
  return { from: first, to: last }
}

/** What became of a link over some days. Reads only counts, so it costs the same for a million clicks as for one. */
export const readLinkStats = async (
  pool: Pool,
  linkId: string,
  { from, to }: Period,
): Promise<LinkStatsView> => {
  const values = [linkId, from, to]
  const [days, breakdowns, conversions] = await Promise.all([
    pool.query<DayRow>({ name: 'link-days', text: DAYS, values }),
    pool.query<BreakdownRow>({ name: 'link-breakdowns', text: BREAKDOWNS, values }),
    pool.query<ConversionRow>({ name: 'link-conversions', text: CONVERSIONS, values }),
  ])
  const byDay = days.rows.map(({ day, clicks, bot_clicks, unique_visitors }) => ({
    day,
    clicks: Number(clicks),
    botClicks: Number(bot_clicks),
    uniqueVisitors: Number(unique_visitors),
  }))
  const sum = (of: (day: (typeof byDay)[number]) => number) =>
    byDay.reduce((total, day) => total + of(day), 0)
  const by = (dimension: BreakdownRow['dimension']) =>
    breakdowns.rows
      .filter((row) => row.dimension === dimension)
      .map(({ value, clicks }) => ({ value, clicks: Number(clicks) }))
  const attributed = (touch: ConversionRow['touch']) => {
    const rows = conversions.rows.filter((row) => row.touch === touch)
    return {
      conversions: rows.reduce((total, row) => total + Number(row.conversions), 0),
      revenue: rows
        .filter(({ currency }) => currency !== '')
        .map(({ currency, revenue }) => ({ currency, amount: Number(revenue) })),
    }
  }
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
    conversions: { firstTouch: attributed('first'), lastTouch: attributed('last') },
  }
}

const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)
