import { compileValidator } from '@waymark/contracts/validator'
import type { Pool } from 'pg'
import { type Static, Type } from 'typebox'

const NullableString = Type.Unsafe<string | null>({ type: ['string', 'null'] })

/** A verified domain with its fallback addresses. */
const LinkDomain = Type.Object({
  id: Type.String(),
  host: Type.String(),
  rootUrl: NullableString,
  notFoundUrl: NullableString,
  expiredUrl: NullableString,
})
export type LinkDomain = Static<typeof LinkDomain>

/** The copy of all verified domains in the shared cache. */
export const linkDomainsCopy = compileValidator(Type.Array(LinkDomain))

/** Changes with every change of a domain. */
const VERSION = `SELECT count(*) || '/' || coalesce(sum(version), 0) AS version FROM link.domains`
const VERIFIED = `
  SELECT d.id, d.host, d.root_url AS "rootUrl", d.not_found_url AS "notFoundUrl", d.expired_url AS "expiredUrl"
  FROM link.domains d JOIN core.projects p ON p.id = d.project_id AND p.archived_at IS NULL
  WHERE d.verified_at IS NOT NULL`

/** @throws when the database is unavailable */
export const readLinkDomainsVersion = async (pool: Pool): Promise<string> => {
  const { rows } = await pool.query<{ version: string }>({ name: 'link-domains-version', text: VERSION })
  return rows[0]?.version ?? ''
}

/** All verified domains. @throws when the database is unavailable */
export const readLinkDomains = async (pool: Pool): Promise<LinkDomain[]> =>
  (await pool.query<LinkDomain>({ name: 'link-domains', text: VERIFIED })).rows

/** The app-association files of a domain, null when it has none. */
export type AppFiles = { appleAppSiteAssociation: object | null; assetLinks: object | null }

const APP_FILES = `
  SELECT apple_app_site_association AS "appleAppSiteAssociation", asset_links AS "assetLinks"
  FROM link.domains WHERE id = $1`

/** @throws when the database is unavailable */
export const readAppFiles = async (pool: Pool, domainId: string): Promise<AppFiles | null> => {
  const { rows } = await pool.query<AppFiles>({
    name: 'link-domain-app-files',
    text: APP_FILES,
    values: [domainId],
  })
  return rows[0] ?? null
}
