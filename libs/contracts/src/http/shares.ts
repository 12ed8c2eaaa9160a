import { type Static, Type } from 'typebox'
import { Id, Name, NullableId, NullableTimestamp, openObject, patternOf, Timestamp } from '../schema-parts.ts'
import { FunnelView, PathsView, RetentionView, TrendsView } from './analytics.ts'
import { busyOrLate, range, TimeZone } from './analytics-parts.ts'
import { ErrorBody, RetryAfterSeconds } from './error-bodies.ts'
import { insightKinds } from './insights.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'
import { statsIntervals } from './stats.ts'
import { WebRequest, WebView } from './web-analytics.ts'

/** What can be shared: a dashboard, or the figures of `POST analytics/web`. */
const shareKinds = ['dashboard', 'web'] as const
export type ShareKind = (typeof shareKinds)[number]

/** Minimum and maximum characters of the password of a share. */
const MIN_SHARE_PASSWORD_LENGTH = 8
export const MAX_SHARE_PASSWORD_LENGTH = 128
/** Maximum hosts whose pages may frame a share. */
export const MAX_FRAME_HOSTS = 20
/** Values that fewer people than this have are not shown, because they might tell who somebody is. */
export const MIN_SHARED_PEOPLE = 5
/** The header that proves that the password of a share was given. */
export const SHARE_PASS_HEADER = 'x-share-pass'

/** What visitors of a shared Web page may filter by, so that no filter tells whether a person exists. */
export const sharedWebProperties = [
  'context.path',
  'visit.entryPage',
  'visit.exitPage',
  'visit.channel',
  'visit.source',
  'visit.campaign',
  'visit.country',
  'visit.browser',
  'visit.os',
  'visit.device',
] as const
/** Parts of values would tell values that are not shown. */
export const sharedWebOperators = ['eq', 'not_exists'] as const

const Kind = Type.Unsafe<ShareKind>({ type: 'string', enum: shareKinds })
const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
const FrameHost = Type.String({
  maxLength: 260,
  ...patternOf(
    `^(\\*\\.${label}\\.)?${label}(\\.${label})*(:[0-9]{1,5})?$`,
    'a host in lower case such as wiki.example.com, with * as its first label at most, and without https:// or a path',
  ),
})
const changeable = {
  name: Name,
  expiresAt: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      maxLength: 40,
      description: 'Until when the link works; null: until it is revoked.',
    }),
  ),
  password: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: MIN_SHARE_PASSWORD_LENGTH,
      maxLength: MAX_SHARE_PASSWORD_LENGTH,
      writeOnly: true,
      description: 'Visitors have to give it. It is stored as a hash and never shown; null: none.',
    }),
  ),
  frameHosts: Type.Optional(
    Type.Array(FrameHost, {
      maxItems: MAX_FRAME_HOSTS,
      uniqueItems: true,
      description:
        'The hosts whose pages may show it in a frame, such as `wiki.example.com`, `*.example.com` or `localhost:3000`. ' +
        'Empty: none.',
    }),
  ),
}
const NewShare = Type.Object({
  ...changeable,
  kind: Kind,
  dashboardId: Type.Optional(
    Type.Unsafe<string | null>({ ...NullableId, description: 'The dashboard, for the kind `dashboard`.' }),
  ),
})
export type NewShare = Static<typeof NewShare>
const SharePatch = Type.Partial(Type.Object(changeable))

export const ShareView = Type.Object({
  id: Id,
  name: Type.String(),
  kind: Kind,
  dashboardId: NullableId,
  hasPassword: Type.Boolean(),
  frameHosts: Type.Array(Type.String()),
  expiresAt: NullableTimestamp,
  version: Type.Integer({ description: 'The number of changes.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
const NewShareView = Type.Object({
  ...ShareView.properties,
  secret: Type.String({ description: 'The secret of the link. It is shown only here.' }),
  url: Type.String({ description: 'The address of the page, with the secret.' }),
})

const SharedInsight = Type.Object({
  id: Id,
  name: Type.String(),
  kind: Type.Unsafe<(typeof insightKinds)[number]>({ type: 'string', enum: insightKinds }),
  query: openObject('The query without its filters, which may name people.'),
})
const SharedView = Type.Object({
  kind: Kind,
  name: Type.String({ description: 'The name of the dashboard, or of the share.' }),
  insights: Type.Array(SharedInsight, { description: 'Those of the dashboard.' }),
  goals: Type.Array(Type.Object({ selectorId: Id, eventName: Type.String() }), {
    description: 'The events of the goals, for the kind `web`.',
  }),
})
const Unlocking = Type.Object({ password: Type.String({ maxLength: 1_000, writeOnly: true }) })
const Pass = Type.Object({
  pass: Type.String({ description: 'Proves in the header `X-Share-Pass` that the password was right.' }),
  expiresAt: Timestamp,
})
const SharedQuery = Type.Object({
  ...range,
  interval: Type.Optional(
    Type.Unsafe<(typeof statsIntervals)[number]>({
      type: 'string',
      enum: statsIntervals,
      description: 'Instead of the interval of the insight.',
    }),
  ),
  timeZone: TimeZone,
})
export type SharedQuery = Static<typeof SharedQuery>
const SharedResult = Type.Object(
  {
    trends: Type.Optional(TrendsView),
    funnel: Type.Optional(FunnelView),
    retention: Type.Optional(RetentionView),
    paths: Type.Optional(PathsView),
  },
  { description: 'The result by the kind of the insight.' },
)

const tag = 'Shared links'
const collection = '/api/projects/{projectId}/shares'
const one = `${collection}/{id}`
const editor = { by: 'project', role: 'editor' } as const
const admin = { by: 'project', role: 'admin' } as const
const share = { description: 'The share, without its secret', schema: ShareView }

export const createShare = defineOperation({
  id: 'createShare',
  method: 'post',
  path: collection,
  tag,
  summary: 'Share a dashboard or the web analytics by a secret link',
  description:
    'Who has the link sees figures without signing in, but no people. Values that fewer than ' +
    `${MIN_SHARED_PEOPLE} people have are left out or counted with all others.`,
  access: admin,
  effects: ['destination'],
  body: NewShare,
  answers: { 201: { description: 'The share with its secret', schema: NewShareView } },
})

export const listShares = defineOperation({
  id: 'listShares',
  method: 'get',
  path: collection,
  tag,
  summary: 'List shares, including expired ones',
  access: editor,
  query: PageQuery,
  answers: { 200: { description: 'A page of shares, the newest first', schema: pageOf(ShareView) } },
})

export const getShare = defineOperation({
  id: 'getShare',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a share',
  access: editor,
  answers: { 200: share },
})

type Before = { expiresAt?: unknown; hasPassword?: unknown; frameHosts?: unknown }

const timeOf = (value: unknown): number =>
  value === null || value === undefined
    ? Number.POSITIVE_INFINITY
    : new Date(value as string | Date).getTime()

/** Whether a change lets more people see what is shared. */
const opens = (body: Static<typeof SharePatch>, { expiresAt, hasPassword, frameHosts }: Before): boolean => {
  const framing: readonly unknown[] = Array.isArray(frameHosts) ? frameHosts : []
  return (
    (body.expiresAt !== undefined && timeOf(body.expiresAt) > timeOf(expiresAt)) ||
    (body.password !== undefined && hasPassword === true) ||
    (body.frameHosts ?? []).some((host) => !framing.includes(host))
  )
}

export const updateShare = defineOperation({
  id: 'updateShare',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change a share',
  description: 'The secret stays. A new password ends the access of those who gave the old one.',
  access: admin,
  effects: [
    {
      effect: 'destination',
      described: 'a later expiry, another password or none, or another host that may frame it',
      when: ({ body, before }) => opens(body, before),
    },
  ],
  body: SharePatch,
  answers: { 200: share },
})

export const revokeShare = defineOperation({
  id: 'revokeShare',
  method: 'delete',
  path: one,
  tag,
  summary: 'Revoke a share',
  description: 'The link ends at once, also for those who have it open.',
  access: admin,
  effects: [],
  answers: { 204: { description: 'Revoked' } },
})

const anyone = { access: { by: 'anyone' }, management: true, limited: true, tag } as const
const headers = { 'X-Share-Pass': 'The pass, where the share has a password.' } as const
const locked = {
  description: 'The share has a password, and the pass is missing or has ended',
  schema: Type.Object({ error: Type.String(), code: Type.Literal('password_required') }),
}
const ended = { description: 'The link is unknown, revoked or has expired', schema: ErrorBody }
const away = {
  description: 'A store does not answer, or too much waits; retry later',
  schema: RetryAfterSeconds,
}
const shared = '/api/shared/{key}'

export const getShared = defineOperation({
  ...anyone,
  id: 'getShared',
  method: 'get',
  path: shared,
  summary: 'Read what a secret link shares',
  headers,
  answers: {
    200: { description: 'What is shared', schema: SharedView },
    403: locked,
    404: ended,
    503: away,
  },
})

export const unlockShared = defineOperation({
  ...anyone,
  id: 'unlockShared',
  method: 'post',
  path: `${shared}/unlock`,
  summary: 'Give the password of a secret link',
  description: 'A client address has 5 tries a minute for each link.',
  body: Unlocking,
  answers: {
    200: { description: 'A pass for an hour', schema: Pass },
    403: {
      description: 'The password is wrong',
      schema: Type.Object({ error: Type.String(), code: Type.Literal('wrong_password') }),
    },
    404: ended,
    503: away,
  },
})

export const measureShared = defineOperation({
  ...anyone,
  id: 'measureShared',
  method: 'post',
  path: `${shared}/insights/{id}`,
  takesLong: true,
  readOnly: true,
  summary: 'Measure an insight of a shared dashboard',
  headers,
  body: SharedQuery,
  answers: {
    200: { description: 'The result', schema: SharedResult },
    403: locked,
    404: ended,
    ...busyOrLate,
  },
})

export const measureSharedWeb = defineOperation({
  ...anyone,
  id: 'measureSharedWeb',
  method: 'post',
  path: `${shared}/web`,
  takesLong: true,
  readOnly: true,
  summary: 'Measure the visits that a secret link shares',
  description:
    `Filters are by ${sharedWebProperties.map((name) => `\`${name}\``).join(', ')}, with the operators ` +
    `${sharedWebOperators.map((name) => `\`${name}\``).join(' and ')}.`,
  headers,
  body: WebRequest,
  answers: { 200: { description: 'The figures', schema: WebView }, 403: locked, 404: ended, ...busyOrLate },
})

export const shareOperations = [
  createShare,
  listShares,
  getShare,
  updateShare,
  revokeShare,
  getShared,
  unlockShared,
  measureShared,
  measureSharedWeb,
]
