import { type Static, Type } from 'typebox'
import { VISIBLE_KEYWORD } from '../problem-message.ts'
import { Id, NullableId, NullableString, NullableTimestamp, patternOf, Timestamp } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import { ErrorBody, RetryAfter } from './error-bodies.ts'
import { Destination, orNull } from './link-parts.ts'
import { LinkCampaignStatsView, LinkStatsQuery, LinkStatsView } from './link-stats.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'
import { ValidationItem } from './track-result.ts'

/** Maximum characters of the password of a link. */
export const MAX_LINK_PASSWORD_LENGTH = 128
/** Maximum links of a bulk request that have a password, because a hash takes tens of ms. */
export const MAX_BULK_PASSWORDS = 20
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

const Utm = Type.Object(
  {
    source: Type.Optional(text(200)),
    medium: Type.Optional(text(200)),
    campaign: Type.Optional(text(200)),
    term: Type.Optional(text(200)),
    content: Type.Optional(text(200)),
  },
  { additionalProperties: false, description: 'Added to the destination, unless it has the parameter.' },
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
    description: 'Another destination for visitors who match all given conditions.',
  },
)
export type LinkTarget = Static<typeof LinkTarget>

/** A weighted destination. */
export const LinkVariant = Type.Object(
  {
    key: Type.String({
      ...patternOf('^[A-Za-z0-9_-]{1,40}$', '1 to 40 letters, digits, `_` and `-`'),
      description: 'Names it in statistics. Unique in the link.',
    }),
    destination: Destination,
    weight: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      description: 'Its part of the sum of all weights. 0: no visitors.',
    }),
  },
  { additionalProperties: false },
)
export type LinkVariant = Static<typeof LinkVariant>

/** What messengers and social networks show for a link. */
export const LinkCard = Type.Object(
  {
    title: text(200),
    description: Type.Optional(text(500)),
    image: Type.Optional(
      Type.String({ ...Destination, description: 'An absolute https URL without credentials.' }),
    ),
  },
  { additionalProperties: false },
)
export type LinkCard = Static<typeof LinkCard>

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
        description:
          'The number of clicks, without bots, after which the link answers 410. It applies within a few seconds.',
      }),
    ),
  ),
  campaign: Type.Optional(orNull(text(200))),
  tags: Type.Optional(Type.Array(text(50), { maxItems: 50, uniqueItems: true })),
  utm: Type.Optional(Utm),
  expiredUrl: Type.Optional(
    orNull(
      Type.String({
        ...Destination,
        description:
          'Where the link redirects to when it is paused, archived, expired or over its click limit. Default: the ' +
          'address of its domain, or a page.',
      }),
    ),
  ),
  forwardQuery: Type.Optional(
    Type.Boolean({
      description: 'Whether the query parameters of the short URL are added to the destination.',
    }),
  ),
  externalId: Type.Optional(
    orNull(text(200, 'Yours. Creating a link again with the same one answers the link that there is.')),
  ),
  password: Type.Optional(
    orNull(
      Type.String({
        minLength: 4,
        maxLength: MAX_LINK_PASSWORD_LENGTH,
        writeOnly: true,
        description:
          'Visitors have to give it before they are redirected. It is stored as a hash and never shown. ' +
          `At most ${MAX_BULK_PASSWORDS} links of a bulk request have one.`,
      }),
    ),
  ),
  og: Type.Optional(
    orNull(
      Type.Unsafe<LinkCard>({
        ...LinkCard,
        description:
          'The card that link-preview bots of messengers and social networks get instead of the redirect, as OpenGraph ' +
          'and Twitter tags. With a password it does not show the destination.',
      }),
    ),
  ),
  variants: Type.Optional(
    Type.Array(LinkVariant, {
      maxItems: 10,
      description:
        'Destinations among which visitors are split by weight, instead of `destination`. A visitor gets the same one ' +
        'each time. A matching target comes before.',
    }),
  ),
  targets: Type.Optional(
    Type.Array(LinkTarget, {
      maxItems: 100,
      description: 'The first target that matches the visitor is used.',
    }),
  ),
}

const NewLink = Type.Object(
  {
    destination: Destination,
    code: Type.Optional(
      Type.String({
        description: '3 to 64 letters, digits, `_` and `-`. Unique on its domain. Default: generated.',
        minLength: 1,
        maxLength: 200,
      }),
    ),
    domainId: Type.Optional(
      orNull(
        Type.String({
          ...Id,
          description: 'The link domain. Default: the domain of this installation. It does not change later.',
        }),
      ),
    ),
    domain: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_000,
        description: 'The host of the link domain, instead of its id.',
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
  { additionalProperties: false, description: 'Absent fields do not change. `null` removes a value.' },
)
export type LinkPatch = Static<typeof LinkPatch>

const LinkView = Type.Object({
  id: Id,
  code: Type.String(),
  domainId: Type.Unsafe<string | null>({
    ...NullableId,
    description: 'The link domain. Null: the domain of this installation.',
  }),
  domain: Type.Unsafe<string | null>({ ...NullableString, description: 'The host of the link domain.' }),
  shortUrl: Type.String(),
  destination: Type.String(),
  status: LinkStatus,
  startsAt: NullableTimestamp,
  expiresAt: NullableTimestamp,
  clickLimit: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  expiredUrl: NullableString,
  campaign: NullableString,
  tags: Type.Array(Type.String()),
  utm: Utm,
  forwardQuery: Type.Boolean(),
  externalId: NullableString,
  hasPassword: Type.Boolean({ description: 'Whether visitors have to give a password.' }),
  og: orNull(LinkCard),
  variants: Type.Array(LinkVariant),
  targets: Type.Array(LinkTarget),
  clicks: Type.Integer({ description: 'Clicks without bots and prefetches.' }),
  botClicks: Type.Integer({ description: 'Clicks of bots and prefetches.' }),
  uniqueVisitors: Type.Integer({ description: 'A visitor counts once per day.' }),
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
  domainId: Type.Optional(Type.String({ ...Id, description: 'Links of this link domain.' })),
  status: Type.Optional(
    Type.Unsafe<LinkStatus>({ ...LinkStatus, description: 'Default: all except archived links.' }),
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
  existing: Type.Integer({ description: 'Links whose `externalId` exists already.' }),
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
  description:
    'HEAD has the same answer and is not counted. Errors are an HTML page for browsers and JSON for other clients. ' +
    'The host of a verified link domain answers with its own links, here and at `/{code}`.',
  access: { by: 'anyone' },
  forPrograms: true,
  answers: {
    200: {
      description: 'The preview card of the link, for link-preview bots',
      contentTypes: ['text/html'],
    },
    302: { description: 'The destination, or the address for ended links. The answer must not be cached' },
    403: {
      description: 'The link needs a password. Browsers get a form that sends it with POST',
      schema: Type.Object({ error: Type.String(), reason: Type.Literal('password_required') }),
    },
    404: { description: 'The link does not exist or has not started', schema: ErrorBody },
    410: {
      description: 'The link is paused, archived, expired or over its click limit',
      schema: Type.Object({ error: Type.String(), reason: Type.String() }),
    },
    503: { description: 'The link cannot be read', schema: RetryAfter },
  },
})

export const unlockLink = defineOperation({
  id: 'unlockLink',
  method: 'post',
  path: '/s/{code}',
  tag,
  summary: 'Follow a short link with its password',
  description:
    'The field `password` of a form. A cookie remembers the right password for an hour in this browser, or until it ' +
    'changes. 5 tries a minute per link and client address. Errors are an HTML page for browsers.',
  access: { by: 'anyone' },
  forPrograms: true,
  limited: true,
  consumes: ['application/x-www-form-urlencoded'],
  answers: {
    303: { description: 'The destination. The click is counted' },
    403: {
      description: 'The password is wrong',
      schema: Type.Object({ error: Type.String(), reason: Type.Literal('wrong_password') }),
    },
    404: { description: 'The link does not exist or has not started', schema: ErrorBody },
    405: { description: 'The link has no password', schema: ErrorBody },
    410: {
      description: 'The link is paused, archived, expired or over its click limit',
      schema: Type.Object({ error: Type.String(), reason: Type.String() }),
    },
    413: { description: 'The body is larger than 4 KiB', schema: ErrorBody },
    415: { description: 'The body is no form', schema: ErrorBody },
    503: {
      description: 'The link cannot be read, or too many passwords are being checked',
      schema: RetryAfter,
    },
  },
})

export const createLink = defineOperation({
  id: 'createLink',
  method: 'post',
  path: collection,
  tag,
  summary: 'Add a short link',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: NewLink,
  answers: { 201: link, 200: { description: 'The existing link with this `externalId`', schema: LinkView } },
})

export const createLinks = defineOperation({
  id: 'createLinks',
  method: 'post',
  path: `${collection}/bulk`,
  tag,
  summary: `Add up to ${MAX_LINKS_PER_REQUEST} short links`,
  description: 'Each link succeeds or fails on its own. A repeat is safe for links with an `externalId`.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: BulkLinks,
  answers: { 200: { description: 'The result of each link, in order', schema: BulkResult } },
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
  description: 'Changes apply in every process within 5 seconds.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: LinkPatch,
  answers: { 200: link },
})

export const archiveLink = defineOperation({
  id: 'archiveLink',
  method: 'delete',
  path: one,
  tag,
  summary: 'Archive a short link',
  description: 'It answers 410 from then on. Its code is not reused.',
  access: { by: 'project', role: 'editor' },
  effects: [],
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
  unlockLink,
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
