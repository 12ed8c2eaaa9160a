import type { LinkView } from '@waymark/contracts/http/links'
import type { LinkRow } from './link-row-queries.ts'

/** With which the short URLs of a domain begin; `host` is null for the domain of the installation. */
export const shortUrlPrefix = (host: string | null, baseUrl: string): string =>
  host === null ? `${baseUrl}/s/` : `https://${host}/`

/** A link as the API shows it; `baseUrl` has no slash at the end. */
export const toLinkView = (row: LinkRow, baseUrl: string): LinkView => ({
  id: row.id,
  code: row.code,
  domainId: row.domain_id,
  domain: row.domain,
  shortUrl: shortUrlPrefix(row.domain, baseUrl) + row.code,
  destination: row.destination,
  status: row.status,
  startsAt: row.starts_at?.toISOString() ?? null,
  expiresAt: row.expires_at?.toISOString() ?? null,
  clickLimit: row.click_limit,
  expiredUrl: row.expired_url,
  campaign: row.campaign,
  tags: row.tags,
  utm: row.utm,
  forwardQuery: row.forward_query,
  externalId: row.external_id,
  hasPassword: row.has_password,
  og: row.og,
  variants: row.variants,
  targets: row.targets,
  clicks: Number(row.clicks),
  botClicks: Number(row.bot_clicks),
  uniqueVisitors: Number(row.unique_visitors),
  lastClickedAt: row.last_clicked_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})
