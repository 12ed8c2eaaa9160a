import { type Static, Type } from 'typebox'
import { type ApiKeyScope, apiKeyScopes } from '../api-key.ts'
import { EnvironmentKey, PRODUCTION } from '../environment.ts'
import { ValidationMode } from '../project-settings.ts'
import { Id, Name, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

const Scope = Type.Unsafe<ApiKeyScope>({ enum: apiKeyScopes })
const Kind = Type.Enum(['pub', 'sec'], {
  description: '`pub` keys are for browsers, `sec` keys for servers.',
})

const MAX_REQUESTS_PER_MINUTE = 10_000_000
const requestsPerMinute = {
  description:
    'For a `sec` key: the maximum number of decisions, OFREP evaluations, redemptions and profile writes per ' +
    'minute, each counted separately and for all client addresses together. Null: the limits per project and ' +
    'client address apply.',
}

const NewApiKey = Type.Object({
  name: Name,
  kind: Kind,
  scopes: Type.Array(Scope, { minItems: 1, uniqueItems: true }),
  validationMode: Type.Optional(Type.Union([ValidationMode, Type.Null()])),
  allowedOrigins: Type.Optional(
    Type.Array(Type.String({ maxLength: 300 }), {
      maxItems: 50,
      description:
        'The origins of pages that may use a `pub` key, such as `https://shop.example`. `*` may be the first label and ' +
        'stands for one: `https://*.shop.example`, but not below a public suffix such as `co.uk`. Apps and extensions ' +
        'have origins such as `capacitor://localhost`, `tauri://localhost` and `chrome-extension://…`. Empty: all origins.',
    }),
  ),
  requestsPerMinute: Type.Optional(
    Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      maximum: MAX_REQUESTS_PER_MINUTE,
      ...requestsPerMinute,
    }),
  ),
  environment: Type.Optional(
    Type.String({
      ...EnvironmentKey,
      default: PRODUCTION,
      description: 'The environment whose rules it gets from decisions. It cannot change.',
    }),
  ),
  expiresAt: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      maxLength: 40,
      description: 'Must be in the future.',
    }),
  ),
})

const ApiKeyPatch = Type.Partial(
  Type.Pick(NewApiKey, [
    'name',
    'scopes',
    'validationMode',
    'allowedOrigins',
    'requestsPerMinute',
    'expiresAt',
  ]),
)

/** Default and maximum time that a rotated key remains valid, in seconds. */
export const DEFAULT_OVERLAP_SECONDS = 24 * 60 * 60
const MAX_OVERLAP_SECONDS = 30 * DEFAULT_OVERLAP_SECONDS
const Rotation = Type.Object({
  overlapSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_OVERLAP_SECONDS,
      default: DEFAULT_OVERLAP_SECONDS,
      description: 'How long the old key stays valid. 0 revokes it at once.',
    }),
  ),
})

export const ApiKeyView = Type.Object({
  id: Id,
  keyId: Type.String({ description: 'The public part of the key.' }),
  name: Type.String(),
  kind: Kind,
  scopes: Type.Array(Scope),
  validationMode: Type.Unsafe<ValidationMode | null>({ anyOf: [ValidationMode, { type: 'null' }] }),
  allowedOrigins: Type.Array(Type.String()),
  requestsPerMinute: Type.Unsafe<number | null>({ type: ['integer', 'null'], ...requestsPerMinute }),
  environment: Type.String({ description: 'The environment whose rules it gets from decisions.' }),
  expiresAt: NullableTimestamp,
  revokedAt: NullableTimestamp,
  lastUsedAt: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'The last use, up to a minute late. It does not change the `ETag`.',
  }),
  replacedBy: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The id of the key that replaced it.',
  }),
  ownerId: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    format: 'uuid',
    description:
      'The owner: the member who created the key, or the owner of the key that created it. The key is revoked ' +
      'when the owner leaves the project. Null: the key has no owner.',
  }),
  createdAt: Timestamp,
})

const NewApiKeyView = Type.Object({
  ...ApiKeyView.properties,
  key: Type.String({ description: 'The key. It is shown only once.' }),
})

/** Whether a patch lets a key do more, from other pages, or for longer. */
const extendsKey = (
  { scopes, allowedOrigins, expiresAt }: Static<typeof ApiKeyPatch>,
  before: Readonly<Record<string, unknown>>,
): boolean => {
  const isIn = (list: unknown, item: string) => Array.isArray(list) && list.includes(item)
  const hadOrigins = Array.isArray(before.allowedOrigins) && before.allowedOrigins.length > 0
  return (
    (scopes?.some((scope) => !isIn(before.scopes, scope)) ?? false) ||
    // Without origins, a key may be used from all of them.
    (hadOrigins && allowedOrigins?.length === 0) ||
    (hadOrigins && (allowedOrigins?.some((origin) => !isIn(before.allowedOrigins, origin)) ?? false)) ||
    (expiresAt !== undefined && timeOf(expiresAt) > timeOf(before.expiresAt))
  )
}

/** The time of an expiry in ms; no expiry is later than any. */
const timeOf = (expiry: unknown): number => {
  if (expiry instanceof Date) return expiry.getTime()
  return typeof expiry === 'string' ? Date.parse(expiry) : Number.POSITIVE_INFINITY
}

const tag = 'API keys'
const access = { by: 'project', role: 'admin' } as const
// A key would outlive the access token that creates it.
const noTokens = { ...access, tokens: false } as const

export const createApiKey = defineOperation({
  id: 'createApiKey',
  method: 'post',
  path: '/api/projects/{projectId}/api-keys',
  tag,
  summary: 'Create an API key',
  description:
    'A key can only create keys with scopes that it holds. The owner of the new key is the member who creates' +
    ' it, or the owner of the key that creates it. The key is revoked when the owner leaves the project or ' +
    'loses the role that its scopes require.',
  access: noTokens,
  effects: ['credential'],
  body: NewApiKey,
  answers: { 201: { description: 'The key', schema: NewApiKeyView } },
})

export const listApiKeys = defineOperation({
  id: 'listApiKeys',
  method: 'get',
  path: '/api/projects/{projectId}/api-keys',
  tag,
  summary: 'List API keys, revoked ones included',
  access,
  query: PageQuery,
  answers: { 200: { description: 'A page of keys, the newest first', schema: pageOf(ApiKeyView) } },
})

const one = '/api/projects/{projectId}/api-keys/{id}'

export const getApiKey = defineOperation({
  id: 'getApiKey',
  method: 'get',
  path: one,
  tag,
  summary: 'Read an API key',
  access,
  answers: { 200: { description: 'The key, without its secret', schema: ApiKeyView } },
})

export const updateApiKey = defineOperation({
  id: 'updateApiKey',
  method: 'patch',
  path: one,
  tag,
  summary: 'Update an API key',
  description:
    'Changes apply in every process within 5 seconds. A key can only grant scopes that it holds. A revoked key cannot change.',
  access: noTokens,
  effects: [
    {
      effect: 'credential',
      described: 'other scopes, origins or a later expiry',
      when: ({ body, before }) => extendsKey(body, before),
    },
  ],
  body: ApiKeyPatch,
  answers: { 200: { description: 'The key, without its secret', schema: ApiKeyView } },
})

export const rotateApiKey = defineOperation({
  id: 'rotateApiKey',
  method: 'post',
  path: `${one}/rotate`,
  tag,
  summary: 'Replace an API key by a new one with the same properties',
  description:
    'The old key expires after the overlap. The new key belongs to the caller. A key can be rotated once; ' +
    'after that, rotate the new key.',
  access: noTokens,
  effects: ['credential'],
  body: Rotation,
  answers: { 201: { description: 'The new key', schema: NewApiKeyView } },
})

export const revokeApiKey = defineOperation({
  id: 'revokeApiKey',
  method: 'delete',
  path: one,
  tag,
  summary: 'Revoke an API key',
  description: 'Every process refuses it within 5 seconds.',
  access,
  effects: [],
  answers: { 204: { description: 'Revoked' } },
})

export const apiKeyOperations = [
  createApiKey,
  listApiKeys,
  getApiKey,
  updateApiKey,
  rotateApiKey,
  revokeApiKey,
]
