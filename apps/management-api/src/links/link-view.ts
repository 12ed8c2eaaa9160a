import type { LinkStatus, LinkTarget, LinkUtm, LinkView } from '@waymark/contracts'

/** The columns of a link `l` with its counts `c`, as `toLinkView` reads them. */
export const LINK_COLUMNS = `
  l.id, l.code, l.destination, l.status, l.starts_at, l.expires_at, l.click_limit, l.campaign, l.tags, l.utm,
  l.forward_query, l.external_id, l.targets, l.created_at, l.updated_at,
  coalesce(c.clicks, 0) AS clicks, coalesce(c.bot_clicks, 0) AS bot_clicks,
  coalesce(c.unique_visitors, 0) AS unique_visitors, c.last_clicked_at`

export type LinkRow = {
  id: string
  code: string
  destination: string
  status: LinkStatus
  starts_at: Date | null
  expires_at: Date | null
  click_limit: number | null
  campaign: string | null
  tags: string[]
  utm: LinkUtm
  forward_query: boolean
  external_id: string | null
  targets: LinkTarget[]
  created_at: Date
  updated_at: Date
  clicks: string
  bot_clicks: string
  unique_visitors: string
  last_clicked_at: Date | null
}

/** A link as the API shows it; `baseUrl` has no slash at the end. */
export const toLinkView = (row: LinkRow, baseUrl: string): LinkView => ({
  id: row.id,
  code: row.code,
  shortUrl: `${baseUrl}/s/${row.code}`,
  destination: row.destination,
  status: row.status,
  startsAt: row.starts_at?.toISOString() ?? null,
  expiresAt: row.expires_at?.toISOString() ?? null,
  clickLimit: row.click_limit,
  campaign: row.campaign,
  tags: row.tags,
  utm: row.utm,
  forwardQuery: row.forward_query,
  externalId: row.external_id,
  targets: row.targets,
  clicks: Number(row.clicks),
  botClicks: Number(row.bot_clicks),
  uniqueVisitors: Number(row.unique_visitors),
  lastClickedAt: row.last_clicked_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})
