import { type Static, Type } from 'typebox'
import { Id, Name, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { notFound } from './account-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

/** Maximum projects to which a token is limited. */
const MAX_PROJECTS = 100
/** How long a token may be valid. */
export const MAX_ACCESS_TOKEN_DAYS = 366
/** Maximum tokens of a user that are neither revoked nor expired. */
export const MAX_ACCESS_TOKENS = 50

const ProjectIds = Type.Unsafe<string[] | null>({
  anyOf: [Type.Array(Id, { minItems: 1, maxItems: MAX_PROJECTS, uniqueItems: true }), { type: 'null' }],
  description:
    'The projects in which the token may be used; null for all projects of the user, also later ones.',
})

const NewAccessToken = Type.Object({
  name: Type.String({ ...Name, description: 'What it is for.' }),
  projectIds: ProjectIds,
  expiresAt: Type.String({
    format: 'date-time',
    maxLength: 40,
    description: `In the future, at most ${MAX_ACCESS_TOKEN_DAYS} days.`,
  }),
})

const AccessTokenView = Type.Object({
  id: Id,
  name: Type.String(),
  projectIds: ProjectIds,
  createdAt: Timestamp,
  lastUsedAt: Type.Unsafe<string | null>({ ...NullableTimestamp, description: 'To the hour.' }),
  expiresAt: Timestamp,
})
export type AccessTokenView = Static<typeof AccessTokenView>

const NewAccessTokenView = Type.Object({
  ...AccessTokenView.properties,
  token: Type.String({ description: 'Send it as `Authorization: Bearer`. It is shown this once.' }),
})

const tag = 'Accounts'
const collection = '/api/auth/access-tokens'
const access = { by: 'session', tokens: false, providers: true } as const

export const createAccessToken = defineOperation({
  id: 'createAccessToken',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create a personal access token',
  description:
    'A program that sends it acts as the user, with the role that the user has at that moment. It is accepted where ' +
    'a session is, except by operations on sign-ins. The user is notified by email.',
  access,
  effects: ['credential'],
  body: NewAccessToken,
  answers: { 201: { description: 'The token', schema: NewAccessTokenView } },
})

export const listAccessTokens = defineOperation({
  id: 'listAccessTokens',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the personal access tokens of the signed-in user',
  access,
  query: PageQuery,
  answers: {
    200: { description: 'A page of tokens, the newest first', schema: pageOf(AccessTokenView) },
  },
})

export const revokeAccessToken = defineOperation({
  id: 'revokeAccessToken',
  method: 'delete',
  path: `${collection}/{id}`,
  tag,
  summary: 'Revoke a personal access token',
  access,
  effects: [],
  answers: { 204: { description: 'It is refused from now on' }, ...notFound },
})

export const accessTokenOperations = [createAccessToken, listAccessTokens, revokeAccessToken]
