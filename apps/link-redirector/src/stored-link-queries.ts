import {
  LinkCard,
  type LinkStatus,
  LinkTarget,
  type LinkUtm,
  LinkVariant,
} from '@waymark/contracts/http/links'
import { compileValidator } from '@waymark/contracts/validator'
import { linkKeyOf } from '@waymark/pipeline'
import type { ChangesQuery } from '@waymark/project-config'
import type { Pool } from 'pg'
import { type Static, Type } from 'typebox'

const NullableString = Type.Unsafe<string | null>({ type: ['string', 'null'] })
const NullableHash = Type.Unsafe<string | null>({ type: ['string', 'null'], pattern: '^\\$argon2id\\$' })
const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })

/** A stored link, with what a redirect needs. Times in ms since the epoch. */
const StoredLink = Type.Object({
  id: Type.String(),
  projectId: Type.String(),
  domainId: NullableString,
  code: Type.String(),
  destination: Type.String(),
  status: Type.Unsafe<LinkStatus>({ enum: ['active', 'paused', 'archived'] }),
  startsAt: NullableInteger,
  expiresAt: NullableInteger,
  clickLimit: NullableInteger,
  expiredUrl: NullableString,
  /** Clicks that were stored when it was read. */
  clicks: Type.Integer(),
  utm: Type.Unsafe<LinkUtm>({ type: 'object', additionalProperties: { type: 'string' } }),
  forwardQuery: Type.Boolean(),
  targets: Type.Array(LinkTarget),
  /** argon2id, as a PHC string. */
  passwordHash: NullableHash,
  og: Type.Union([LinkCard, Type.Null()]),
  variants: Type.Array(LinkVariant),
  /** All keys that variants have had, in the order of their numbers. */
  variantKeys: Type.Array(Type.String()),
})
export type StoredLink = Static<typeof StoredLink>

/** A copy of a link in the shared cache. `readAt`: ms since the epoch, by the database's clock. */
const LinkCopy = Type.Object({ readAt: Type.Number(), link: StoredLink })
export type LinkCopy = Static<typeof LinkCopy>
export const linkCopy = compileValidator(LinkCopy)

type Row = {
  id: string
  project_id: string
  domain_id: string | null
  code: string
  destination: string
  status: LinkStatus
  starts_at: Date | null
  expires_at: Date | null
  click_limit: number | null
  expired_url: string | null
  clicks: string
  utm: LinkUtm
  forward_query: boolean
  targets: LinkTarget[]
  password_hash: string | null
  og: LinkCard | null
  variants: LinkVariant[]
  variant_keys: string[]
  /** By the database's clock. */
  read_at: Date
}

const SELECT = `
  SELECT l.id, l.project_id, l.domain_id, l.code, l.destination, l.status, l.starts_at, l.expires_at, l.click_limit,
    l.expired_url, l.utm, l.forward_query, l.targets, l.password_hash, l.og, l.variants, l.variant_keys,
    coalesce(c.clicks, 0) AS clicks, now() AS read_at
  FROM link.links l JOIN core.projects p ON p.id = l.project_id AND p.archived_at IS NULL
  LEFT JOIN link.counts c ON c.link_id = l.id`
const BY_CODE = `${SELECT} WHERE l.domain_id IS NULL AND l.code = ANY($1::text[])`
const BY_DOMAIN_AND_CODE = `
  ${SELECT} JOIN unnest($1::uuid[], $2::text[]) AS given (domain_id, code)
  ON l.code = given.code AND l.domain_id = given.domain_id`

/** Finds links that were changed after their creation. */
export const linkChanges: ChangesQuery = {
  name: 'link-changes',
  text: `
    SELECT id || ' ' || updated_at AS change_id, coalesce(domain_id || '/', '') || code AS subject FROM link.links
    WHERE updated_at > created_at AND updated_at > now() - $1 * interval '1 millisecond'`,
}

/** Links by their keys (`linkKeyOf`), and when they were read. @throws when the database is unavailable */
export const readLinks = async (pool: Pool, keys: readonly string[]): Promise<Map<string, LinkCopy>> => {
  const codes = keys.filter((key) => !key.includes('/'))
  const ofDomains = keys.filter((key) => key.includes('/'))
  const rows = [
    ...(codes.length > 0 ? await readByCode(pool, codes) : []),
    ...(ofDomains.length > 0 ? await readByDomainAndCode(pool, ofDomains) : []),
  ]
  return new Map(
    rows.map((row) => {
      const link = toStoredLink(row)
      return [linkKeyOf(link), { readAt: row.read_at.getTime(), link }]
    }),
  )
}

const readByCode = async (pool: Pool, codes: readonly string[]): Promise<Row[]> =>
  (await pool.query<Row>({ name: 'read-link', text: BY_CODE, values: [codes] })).rows

const readByDomainAndCode = async (pool: Pool, keys: readonly string[]): Promise<Row[]> => {
  const parts = keys.map((key) => key.split('/', 2))
  const values = [parts.map(([domainId]) => domainId), parts.map(([, code]) => code)]
  const { rows } = await pool.query<Row>({ name: 'read-domain-link', text: BY_DOMAIN_AND_CODE, values })
  return rows
}

const toStoredLink = (row: Row): StoredLink => ({
  id: row.id,
  projectId: row.project_id,
  domainId: row.domain_id,
  code: row.code,
  destination: row.destination,
  status: row.status,
  startsAt: row.starts_at?.getTime() ?? null,
  expiresAt: row.expires_at?.getTime() ?? null,
  clickLimit: row.click_limit,
  expiredUrl: row.expired_url,
  clicks: Number(row.clicks),
  utm: row.utm,
  forwardQuery: row.forward_query,
  targets: row.targets,
  passwordHash: row.password_hash,
  og: row.og,
  variants: row.variants,
  variantKeys: row.variant_keys,
})

const CLICKS = 'SELECT link_id, clicks FROM link.counts WHERE link_id = ANY($1::uuid[])'

/** The stored clicks of links by id. @throws when the database is unavailable */
export const readClicks = async (pool: Pool, ids: readonly string[]): Promise<Map<string, number>> => {
  const { rows } = await pool.query<{ link_id: string; clicks: string }>({
    name: 'read-link-counts',
    text: CLICKS,
    values: [ids],
  })
  return new Map(rows.map(({ link_id, clicks }) => [link_id, Number(clicks)]))
}
