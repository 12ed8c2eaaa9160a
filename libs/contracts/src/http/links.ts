import { type Static, type TSchema, Type } from 'typebox'
import { Id, NullableString, NullableTimestamp, patternOf, Timestamp } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import { VISIBLE_KEYWORD } from '../visible-text.ts'
import { ErrorBody, RetryAfter } from './error-bodies.ts'
import { LinkCampaignStatsView, LinkStatsQuery, LinkStatsView } from './link-stats.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'
import { ValidationItem } from './track-result.ts'

/** Maximum characters of a destination, before and after normalization. */
export const MAX_DESTINATION_LENGTH = 2_048
/** Maximum links and bytes of a bulk request. */
const MAX_LINKS_PER_REQUEST = 1_000
export const MAX_BULK_LINKS_BODY_BYTES = 4 * 1024 * 1024

const VISIBLE = {
  ...patternOf(
    '^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$',
    'text with at least one visible character, and without control characters',
  ),
  [VISIBLE_KEYWORD]: true,
}
const text = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...VISIBLE, ...(description && { description }) })
const orNull = <S extends TSchema>(schema: S) =>
  Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }] })

const Destination = Type.String({
  minLength: 1,
  maxLength: MAX_DESTINATION_LENGTH,
  description: 'Absolute, http or https, without credentials.',
})

const Utm = Type.Object(
  {
    source: Type.Optional(text(200)),
    medium: Type.Optional(text(200)),
    campaign: Type.Optional(text(200)),
    term: Type.Optional(text(200)),
    content: Type.Optional(text(200)),
  },
  { additionalProperties: false, description: 'Added to the destination where it has no such parameter.' },
)
export type LinkUtm = Static<typeof Utm>

/** A destination for some visitors. */
export const LinkTarget = Type.Object(
  {
    device: Type.Optional(Type.Enum(['desktop', 'mobile', 'tablet'])),
    os: Type.Optional(Type.Enum(['android', 'ios', 'linux', 'macos', 'windows'])),
    country: Type.Optional(
      Type.String({
        ...patternOf('^[A-Z]{2}$', 'two capital letters, an ISO 3166-1 alpha-2 code'),
        description: 'ISO 3166-1 alpha-2.',
      }),
    ),
    destination: Destination,
  },
  {
    additionalProperties: false,
    minProperties: 2,
    description: 'Another destination for visitors who fit everything that is named.',
  },
)
export type LinkTarget = Static<typeof LinkTarget>

const LinkStatus = Type.Enum(['active', 'paused', 'archived'])
export type LinkStatus = Static<typeof LinkStatus>

const settable = {
  startsAt: Type.Optional(orNull(Timestamp)),
  expiresAt: Type.Optional(orNull(Timestamp)),
  clickLimit: Type.Optional(
    orNull(
      Type.Integer({
        minimum: 1,
        maximum: 2_147_483_647,
        description: 'Clicks, bots aside, after which the link is gone. It holds within a few seconds.',
      }),
    ),
  ),
  campaign: Type.Optional(orNull(text(200))),
  tags: Type.Optional(Type.Array(text(50), { maxItems: 50, uniqueItems: true })),
  utm: Type.Optional(Utm),
  forwardQuery: Type.Optional(
    Type.Boolean({
      description: 'Whether the destination gets the parameters that the short URL was given.',
    }),
  ),
  externalId: Type.Optional(
    orNull(text(200, 'Yours. Creating a link again with the same one answers the link that there is.')),
  ),
  targets: Type.Optional(
    Type.Array(LinkTarget, { maxItems: 100, description: 'The first that a visitor fits counts.' }),
  ),
}

const NewLink = Type.Object(
  {
    destination: Destination,
    code: Type.Optional(
      Type.String({
        description: 'Letters, digits, `_` and `-`, 3 to 64 of them; generated when left out.',
        minLength: 1,
        maxLength: 200,
      }),
    ),
    ...settable,
  },
  { additionalProperties: false },
)
export type NewLink = Static<typeof NewLink>
/** Validates one link of a bulk request. */
export const newLink = compileValidator(NewLink)

const LinkPatch = Type.Object(
  { status: Type.Optional(LinkStatus), destination: Type.Optional(Destination), ...settable },
  { additionalProperties: false, description: 'What is left out stays; `null` takes a value away.' },
)
export type LinkPatch = Static<typeof LinkPatch>

const LinkView = Type.Object({
  id: Id,
  code: Type.String(),
  shortUrl: Type.String(),
  destination: Type.String(),
  status: LinkStatus,
  startsAt: NullableTimestamp,
  expiresAt: NullableTimestamp,
  clickLimit: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  campaign: NullableString,
  tags: Type.Array(Type.String()),
  utm: Utm,
  forwardQuery: Type.Boolean(),
  externalId: NullableString,
  targets: Type.Array(LinkTarget),
  clicks: Type.Integer({ description: 'Without bots and prefetches.' }),
  botClicks: Type.Integer({ description: 'Bots and prefetches.' }),
  uniqueVisitors: Type.Integer({ description: 'A visitor of several days counts once on each.' }),
  lastClickedAt: NullableTimestamp,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type LinkView = Static<typeof LinkView>

const LinkQuery = Type.Object({
  ...pageParameters,
  q: equalTo('Links with words in code, destination, campaign or external id that begin like all of these.'),
  tag: equalTo('Links with this tag.'),
  campaign: equalTo('Links of this campaign.'),
  status: Type.Optional(
    Type.Unsafe<LinkStatus>({ ...LinkStatus, description: 'All but archived ones unless given.' }),
  ),
})
export type LinkQuery = Static<typeof LinkQuery>

const BulkLinks = Type.Object({
  links: Type.Array(Type.Unsafe<unknown>({ description: 'A link as for `createLink`.' }), {
    minItems: 1,
    maxItems: MAX_LINKS_PER_REQUEST,
  }),
})

const BulkResult = Type.Object({
  created: Type.Integer(),
  existing: Type.Integer({ description: 'Those whose `externalId` was known.' }),
  failed: Type.Integer(),
  results: Type.Array(
    Type.Object({
      index: Type.Integer(),
      status: Type.Enum(['created', 'existing', 'failed']),
      link: Type.Optional(LinkView),
      errors: Type.Optional(Type.Array(ValidationItem)),
    }),
  ),
})
export type BulkLinkResult = Static<typeof BulkResult>['results'][number]

const QrQuery = Type.Object({
  format: Type.Unsafe<'svg' | 'png'>({ type: 'string', enum: ['svg', 'png'], default: 'svg' }),
  size: Type.Integer({
    minimum: 64,
    maximum: 2_048,
    default: 512,
    description: 'Width and height in pixels.',
  }),
})

const tag = 'Short links'
const collection = '/api/projects/{projectId}/links'
const one = `${collection}/{id}`
const link = { description: 'The link', schema: LinkView }

export const resolveLink = defineOperation({
  id: 'resolveLink',
  method: 'get',
  path: '/s/{code}',
  tag,
  summary: 'Follow a short link',
  description: 'HEAD answers alike and is no click. Errors are a small page for browsers, JSON for others.',
  access: { by: 'anyone' },
  forPrograms: true,
  answers: {
    302: { description: 'The destination, never to be cached' },
    404: { description: 'Unknown, or not yet started', schema: ErrorBody },
    410: {
      description: 'Paused, archived, expired or over its limit',
      schema: Type.Object({ error: Type.String(), reason: Type.String() }),
    },
    503: { description: 'No store can tell where it leads', schema: RetryAfter },
  },
})

export const createLink = defineOperation({
  id: 'createLink',
  method: 'post',
  path: collection,
  tag,
  summary: 'Add a short link',
  access: { by: 'project', role: 'editor' },
  body: NewLink,
  answers: { 201: link, 200: { description: 'The link that has this `externalId`', schema: LinkView } },
})

export const createLinks = defineOperation({
  id: 'createLinks',
  method: 'post',
  path: `${collection}/bulk`,
  tag,
  summary: `Add up to ${MAX_LINKS_PER_REQUEST} short links`,
  description:
    'Each succeeds or fails by itself; repeating the request is safe for those with an `externalId`.',
  access: { by: 'project', role: 'editor' },
  body: BulkLinks,
  answers: { 200: { description: 'What became of each, in their order', schema: BulkResult } },
})

export const listLinks = defineOperation({
  id: 'listLinks',
  method: 'get',
  path: collection,
  tag,
  summary: 'List short links; all filters that are given must match',
  access: { by: 'project', role: 'viewer' },
  query: LinkQuery,
  answers: { 200: { description: 'A page of links, the newest first', schema: pageOf(LinkView) } },
})

export const getLink = defineOperation({
  id: 'getLink',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a short link',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: link },
})

export const updateLink = defineOperation({
  id: 'updateLink',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change a short link',
  description: 'It holds in every process within 5 seconds.',
  access: { by: 'project', role: 'editor' },
  body: LinkPatch,
  answers: { 200: link },
})

export const archiveLink = defineOperation({
  id: 'archiveLink',
  method: 'delete',
  path: one,
  tag,
  summary: 'Archive a short link',
  description: 'It answers 410 from then on; its code is not given to another.',
  access: { by: 'project', role: 'editor' },
  answers: { 204: { description: 'Archived' } },
})

export const getLinkQrCode = defineOperation({
  id: 'getLinkQrCode',
  method: 'get',
  path: `${one}/qr`,
  tag,
  summary: 'The short URL as a QR code',
  access: { by: 'project', role: 'viewer' },
  query: QrQuery,
  answers: { 200: { description: 'The image', contentTypes: ['image/svg+xml', 'image/png'] } },
})

export const getLinkStats = defineOperation({
  id: 'getLinkStats',
  takesLong: true,
  method: 'get',
  path: `${one}/stats`,
  tag,
  summary: 'Clicks and conversions of a short link',
  access: { by: 'project', role: 'viewer' },
  query: LinkStatsQuery,
  answers: { 200: { description: 'The figures', schema: LinkStatsView } },
})

export const getLinkCampaignStats = defineOperation({
  id: 'getLinkCampaignStats',
  takesLong: true,
  method: 'get',
  path: '/api/projects/{projectId}/link-campaigns',
  tag,
  summary: 'Clicks and conversions of short links by campaign',
  access: { by: 'project', role: 'viewer' },
  query: LinkStatsQuery,
  answers: { 200: { description: 'The figures', schema: LinkCampaignStatsView } },
})

export const linkOperations = [
  resolveLink,
  createLink,
  createLinks,
  listLinks,
  getLink,
  updateLink,
  archiveLink,
  getLinkQrCode,
  getLinkStats,
  getLinkCampaignStats,
]
