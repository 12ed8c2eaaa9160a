import type { LinkClick } from '@waymark/contracts/records/change-records'
import { type BulkColumn, bulkColumns } from '@waymark/database'
import { type UserAgent, urlHostOf } from '@waymark/domain/enrichment'
import type { ClientBase, Pool } from 'pg'

type Described = LinkClick & {
  browser: string | null
  os: string | null
  device: string | null
  referrerHost: string | null
}

const stored: BulkColumn<Described>[] = [
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'link_id', type: 'uuid', of: ({ linkId }) => linkId },
  { name: 'clicked_at', type: 'timestamptz', of: ({ clickedAt }) => clickedAt },
  { name: 'ip', type: 'text', of: ({ ip }) => ip },
  { name: 'user_agent', type: 'text', of: ({ userAgent }) => userAgent },
  { name: 'browser', type: 'text', of: ({ browser }) => browser },
  { name: 'os', type: 'text', of: ({ os }) => os },
  { name: 'device', type: 'text', of: ({ device }) => device },
  { name: 'country', type: 'text', of: ({ country }) => country },
  { name: 'referrer', type: 'text', of: ({ referrer }) => referrer },
  { name: 'referrer_host', type: 'text', of: ({ referrerHost }) => referrerHost },
  { name: 'bot', type: 'boolean', of: ({ bot }) => bot },
  { name: 'prefetch', type: 'boolean', of: ({ prefetch }) => prefetch },
  { name: 'variant', type: 'text', of: ({ variant }) => variant ?? null },
]
const columns = bulkColumns(stored)
const given = bulkColumns<Described>([
  ...stored,
  { name: 'visitor', type: 'text', of: ({ visitor }) => visitor },
])

// Counts only claimed rows, so that a redelivered click is not counted again. Rows are locked in key order, so that
// writers do not deadlock.
const STORE = `
  WITH incoming AS (
    SELECT DISTINCT ON (id) * FROM ${given.unnest} AS given (${given.names}) ORDER BY id
  ), claimed AS (
    INSERT INTO link.clicks (${columns.names}) SELECT ${columns.names} FROM incoming ORDER BY id
    ON CONFLICT DO NOTHING RETURNING id
  ), fresh AS (
    SELECT *, NOT (bot OR prefetch) AS counts, (clicked_at AT TIME ZONE 'UTC')::date AS day
    FROM incoming JOIN claimed USING (id)
  ), visitors AS (
    INSERT INTO link.daily_visitors (link_id, day, visitor)
    SELECT DISTINCT link_id, day, visitor FROM fresh WHERE counts AND visitor IS NOT NULL ORDER BY 1, 2, 3
    ON CONFLICT DO NOTHING RETURNING link_id, day
  ), days AS (
    SELECT link_id, day, sum(clicks) AS clicks, sum(bot_clicks) AS bot_clicks, sum(visitors) AS unique_visitors,
      max(last) AS last
    FROM (
      SELECT link_id, day, count(*) FILTER (WHERE counts) AS clicks, count(*) FILTER (WHERE NOT counts) AS bot_clicks,
        0 AS visitors, max(clicked_at) FILTER (WHERE counts) AS last
      FROM fresh GROUP BY link_id, day
      UNION ALL
      SELECT link_id, day, 0, 0, count(*), NULL FROM visitors GROUP BY link_id, day
    ) parts GROUP BY link_id, day
  ), totals AS (
    INSERT INTO link.counts AS known (link_id, clicks, bot_clicks, unique_visitors, last_clicked_at)
    SELECT link_id, sum(clicks), sum(bot_clicks), sum(unique_visitors), max(last) FROM days
    GROUP BY link_id ORDER BY link_id
    ON CONFLICT (link_id) DO UPDATE SET
      clicks = known.clicks + excluded.clicks, bot_clicks = known.bot_clicks + excluded.bot_clicks,
      unique_visitors = known.unique_visitors + excluded.unique_visitors,
      last_clicked_at = greatest(known.last_clicked_at, excluded.last_clicked_at)
  ), daily AS (
    INSERT INTO link.daily_counts AS known (link_id, day, clicks, bot_clicks, unique_visitors)
    SELECT link_id, day, clicks, bot_clicks, unique_visitors FROM days ORDER BY link_id, day
    ON CONFLICT (link_id, day) DO UPDATE SET
      clicks = known.clicks + excluded.clicks, bot_clicks = known.bot_clicks + excluded.bot_clicks,
      unique_visitors = known.unique_visitors + excluded.unique_visitors
  ), breakdowns AS (
    INSERT INTO link.daily_breakdowns AS known (link_id, day, dimension, value, clicks)
    SELECT link_id, day, dimension, value, count(*) FROM fresh CROSS JOIN LATERAL
      (VALUES ('country', country), ('device', device), ('referrer', referrer_host), ('variant', variant)) AS parts (dimension, value)
    WHERE counts AND value IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (link_id, day, dimension, value) DO UPDATE SET clicks = known.clicks + excluded.clicks
  )
  SELECT count(*)::int AS stored FROM claimed`

/**
 * Stores and counts clicks, each once per id, in one statement.
 * @returns the number of new clicks
 */
export const storeClicks = async (
  client: ClientBase | Pool,
  clicks: readonly LinkClick[],
  describeUserAgent: (header: string | null) => UserAgent,
): Promise<number> => {
  if (clicks.length === 0) return 0
  const described = clicks.map((click) => {
    const { browser, os, device } = describeUserAgent(click.userAgent)
    return { ...click, browser, os, device, referrerHost: urlHostOf(click.referrer) }
  })
  const { rows } = await client.query<{ stored: number }>({
    name: 'store-clicks',
    text: STORE,
    values: given.values(described),
  })
  return rows[0]?.stored ?? 0
}

/** How long hashes of visitors are kept, in days. Clicks may be delivered this late. */
const KEPT_DAYS = 8
const MAX_ROWS = 10_000

const FORGET_SALTS = `DELETE FROM link.visitor_salts WHERE day < (now() AT TIME ZONE 'UTC')::date - 1`
const FORGET_VISITORS = `
  DELETE FROM link.daily_visitors WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM link.daily_visitors WHERE day < (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS} LIMIT ${MAX_ROWS}))`

/**
 * Deletes the salts of past days, after which hashes cannot be traced back, and up to 10,000 old hashes of visitors.
 * @returns the number of deleted hashes
 */
export const forgetVisitors = async (pool: Pool): Promise<number> => {
  await pool.query(FORGET_SALTS)
  const { rowCount } = await pool.query(FORGET_VISITORS)
  return rowCount ?? 0
}
