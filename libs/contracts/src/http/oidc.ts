import { type Static, Type } from 'typebox'
import { Id, Name, NullableString, NullableTimestamp, patternOf, Timestamp } from '../schema-parts.ts'
import { notFound, openAnswers, Role } from './account-parts.ts'
import { ErrorBody, Unprocessable } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

/** Maximum providers of a tenant. */
export const MAX_OIDC_PROVIDERS = 20
/** Maximum domains of a tenant, verified or not. */
export const MAX_TENANT_DOMAINS = 50
/** Maximum role mappings of a provider. */
export const MAX_ROLE_MAPPINGS = 200

const RoleMapping = Type.Object({
  projectId: Id,
  group: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    minLength: 1,
    maxLength: 200,
    description: 'The name of a group in the groups claim; null for everyone who signs in with the provider.',
  }),
  role: Role,
})
export type RoleMapping = Static<typeof RoleMapping>

const clientId = Type.String({ ...Name, description: 'As the provider has registered Waymark.' })
const clientSecret = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  minLength: 1,
  maxLength: 1_000,
  writeOnly: true,
  description: 'Null for a public client. It is never shown.',
})
const scopes = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 100,
    ...patternOf('^[!#-\\[\\]-~]+$', 'printable ASCII without spaces, quotes and backslashes'),
  }),
  {
    maxItems: 20,
    uniqueItems: true,
    description: 'Requested besides `openid`, `email` and `profile`. Default: none.',
  },
)
const groupsClaim = Type.String({
  ...Name,
  description: 'The claim that lists the groups of a user. Default: `groups`.',
})
const roleMappings = Type.Array(RoleMapping, {
  maxItems: MAX_ROLE_MAPPINGS,
  description:
    'The roles that users get at each sign-in: in each project the strongest of the mappings that match. ' +
    'Only owners of a project change its mappings.',
})

const OidcProviderView = Type.Object({
  id: Id,
  name: Type.String(),
  issuer: Type.String(),
  clientId: Type.String(),
  hasClientSecret: Type.Boolean(),
  scopes: Type.Array(Type.String()),
  groupsClaim: Type.String(),
  roleMappings: Type.Array(RoleMapping),
  redirectUri: Type.String({ description: 'Register it at the provider.' }),
  backchannelLogoutUri: Type.String({
    description: 'Register it at the provider, if it supports back-channel log-out.',
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type OidcProviderView = Static<typeof OidcProviderView>

const TenantDomainView = Type.Object({
  id: Id,
  domain: Type.String(),
  recordName: Type.String({ description: 'The name of the TXT record that proves control of the domain.' }),
  recordValue: Type.String({ description: 'The value of the record.' }),
  verifiedAt: NullableTimestamp,
  createdAt: Timestamp,
})
export type TenantDomainView = Static<typeof TenantDomainView>

const SignInPolicyView = Type.Object({
  oidcOnly: Type.Boolean({
    description:
      'Whether the projects of the tenant are reached only after a sign-in with one of its providers. ' +
      'Owners still reach the projects that they own with their password.',
  }),
})

const ProviderToSignIn = Type.Object({ id: Id, name: Type.String() })
export type ProviderToSignIn = Static<typeof ProviderToSignIn>

const IdentityView = Type.Object({
  id: Id,
  providerId: Id,
  providerName: Type.String(),
  tenantName: Type.String(),
  issuer: Type.String(),
  email: Type.Unsafe<string | null>({
    ...NullableString,
    description: 'The verified address at the last sign-in.',
  }),
  createdAt: Timestamp,
  lastUsedAt: NullableTimestamp,
})
export type IdentityView = Static<typeof IdentityView>

const next = Type.Optional(
  Type.String({
    maxLength: 500,
    description: 'The page of the console to open afterwards. It begins with `/p/`.',
  }),
)
const StartSignIn = Type.Object({ providerId: Id, next })
const RedirectView = Type.Object({
  url: Type.String({ description: 'Open it in this browser, within 10 minutes.' }),
})
const redirect = { 200: { description: 'Where to send the browser', schema: RedirectView } } as const

const tag = 'Single sign-on'
const signedIn = { by: 'session', tokens: false, providers: true } as const
const ofTenant = Type.Object({
  tenantId: Type.Optional(
    Type.String({ ...Id, description: 'The tenant. Default: the first one of the user.' }),
  ),
})
const forOwners = 'For owners of one of the tenant’s projects.'
const providers = '/api/tenant/oidc-providers'
const domains = '/api/tenant/domains'

export const findOidcProviders = defineOperation({
  id: 'findOidcProviders',
  method: 'get',
  path: '/api/auth/oidc/providers',
  tag,
  summary: 'Find the providers for addresses of a domain',
  description: 'Those of tenants that have verified the domain.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  query: Type.Object({ domain: Type.String({ minLength: 1, maxLength: 253 }) }),
  answers: {
    200: {
      description: 'The providers, or an empty list',
      schema: Type.Object({ data: Type.Array(ProviderToSignIn) }),
    },
    503: openAnswers[503],
  },
})

export const startOidcSignIn = defineOperation({
  id: 'startOidcSignIn',
  method: 'post',
  path: '/api/auth/oidc/sign-in',
  tag,
  summary: 'Begin a sign-in with a provider',
  description: 'Sets a cookie. Only the browser that has it can finish the sign-in.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  takesLong: true,
  body: StartSignIn,
  answers: { ...redirect, ...notFound, ...openAnswers },
})

export const finishOidcSignIn = defineOperation({
  id: 'finishOidcSignIn',
  method: 'get',
  path: '/api/auth/oidc/{id}/callback',
  tag,
  summary: 'Finish a sign-in, when the provider sends the browser back',
  description:
    'Starts a session, links the provider or notes the proof, and opens the console. After a failure the console shows the reason.',
  access: { by: 'anyone' },
  management: true,
  takesLong: true,
  answers: { 303: { description: 'To a page of the console' } },
})

export const reauthenticateWithProvider = defineOperation({
  id: 'reauthenticateWithProvider',
  method: 'post',
  path: '/api/auth/oidc/reauthenticate',
  tag,
  summary: 'Begin to prove again who is signed in, with the provider',
  description:
    'For sessions that began with a provider, which asks the user to sign in again. Operations that answer 403 with ' +
    '`code: reauthentication_required` are allowed for 10 minutes after it. Sets a cookie like a sign-in.',
  access: signedIn,
  effects: [],
  limited: true,
  takesLong: true,
  answers: {
    ...redirect,
    422: { description: 'The session did not begin with a provider', schema: Unprocessable },
    503: openAnswers[503],
  },
})

export const endOidcSessions = defineOperation({
  id: 'endOidcSessions',
  method: 'post',
  path: '/api/auth/oidc/{id}/backchannel-logout',
  tag,
  summary: 'End the sessions that a log-out token names',
  description:
    'OpenID Connect Back-Channel Logout 1.0. Providers call it with `logout_token`. A token is accepted once.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  takesLong: true,
  forPrograms: true,
  consumes: ['application/x-www-form-urlencoded'],
  answers: {
    200: { description: 'The sessions have ended' },
    400: { description: 'The token is not valid, or was used', schema: ErrorBody },
    415: { description: 'The body is no form', schema: ErrorBody },
    503: openAnswers[503],
  },
})

export const listIdentities = defineOperation({
  id: 'listIdentities',
  method: 'get',
  path: '/api/auth/identities',
  tag,
  summary: 'List the linked providers of the signed-in user',
  access: signedIn,
  answers: {
    200: {
      description: 'The linked providers, and those of the user’s tenants that can be linked',
      schema: Type.Object({
        data: Type.Array(IdentityView),
        linkable: Type.Array(Type.Object({ ...ProviderToSignIn.properties, tenantName: Type.String() })),
      }),
    },
  },
})

export const linkIdentity = defineOperation({
  id: 'linkIdentity',
  method: 'post',
  path: '/api/auth/identities',
  tag,
  summary: 'Begin to link a provider to the own account',
  description:
    'The provider must report the address of the account as verified. Needs a session that began with the password.',
  access: { by: 'session', tokens: false },
  effects: ['signIn'],
  limited: true,
  takesLong: true,
  body: StartSignIn,
  answers: { ...redirect, ...notFound },
})

export const unlinkIdentity = defineOperation({
  id: 'unlinkIdentity',
  method: 'delete',
  path: '/api/auth/identities/{id}',
  tag,
  summary: 'Unlink a provider',
  description: 'Ends the sessions and access tokens that came from it.',
  access: signedIn,
  effects: ['signIn'],
  answers: { 204: { description: 'Unlinked' }, ...notFound },
})

export const createOidcProvider = defineOperation({
  id: 'createOidcProvider',
  method: 'post',
  path: providers,
  tag,
  summary: 'Add a provider',
  description: `${forOwners} Its configuration is read from the issuer, which cannot be changed later.`,
  access: signedIn,
  effects: ['signIn', 'role', 'destination'],
  limited: true,
  takesLong: true,
  query: ofTenant,
  body: Type.Object({
    name: Name,
    issuer: Type.String({
      minLength: 1,
      maxLength: 500,
      description: 'The address below which `/.well-known/openid-configuration` is.',
    }),
    clientId,
    clientSecret: Type.Optional(clientSecret),
    scopes: Type.Optional(scopes),
    groupsClaim: Type.Optional(groupsClaim),
    roleMappings: Type.Optional(roleMappings),
  }),
  answers: { 201: { description: 'The provider', schema: OidcProviderView }, ...notFound },
})

export const listOidcProviders = defineOperation({
  id: 'listOidcProviders',
  method: 'get',
  path: providers,
  tag,
  summary: 'List the providers of the tenant',
  description: forOwners,
  access: signedIn,
  query: ofTenant,
  answers: {
    200: { description: 'All providers', schema: Type.Object({ data: Type.Array(OidcProviderView) }) },
    ...notFound,
  },
})

export const updateOidcProvider = defineOperation({
  id: 'updateOidcProvider',
  method: 'patch',
  path: `${providers}/{id}`,
  tag,
  summary: 'Change a provider',
  description: forOwners,
  access: signedIn,
  effects: ['signIn', 'role'],
  query: ofTenant,
  body: Type.Object({
    name: Type.Optional(Name),
    clientId: Type.Optional(clientId),
    clientSecret: Type.Optional(clientSecret),
    scopes: Type.Optional(scopes),
    groupsClaim: Type.Optional(groupsClaim),
    roleMappings: Type.Optional(roleMappings),
  }),
  answers: { 200: { description: 'The provider', schema: OidcProviderView }, ...notFound },
})

export const deleteOidcProvider = defineOperation({
  id: 'deleteOidcProvider',
  method: 'delete',
  path: `${providers}/{id}`,
  tag,
  summary: 'Remove a provider',
  description: `${forOwners} Unlinks its users and ends their sessions. Members keep their roles.`,
  access: signedIn,
  effects: ['signIn'],
  query: ofTenant,
  answers: { 204: { description: 'Removed' }, ...notFound },
})

export const createTenantDomain = defineOperation({
  id: 'createTenantDomain',
  method: 'post',
  path: domains,
  tag,
  summary: 'Add a domain',
  description:
    `${forOwners} Once it is verified, the tenant’s providers create accounts for verified addresses of the domain. ` +
    'Addresses of subdomains do not belong to it.',
  access: signedIn,
  effects: ['signIn'],
  query: ofTenant,
  body: Type.Object({ domain: Type.String({ minLength: 4, maxLength: 253 }) }),
  answers: { 201: { description: 'The domain', schema: TenantDomainView }, ...notFound },
})

export const listTenantDomains = defineOperation({
  id: 'listTenantDomains',
  method: 'get',
  path: domains,
  tag,
  summary: 'List the domains of the tenant',
  description: forOwners,
  access: signedIn,
  query: ofTenant,
  answers: {
    200: { description: 'All domains', schema: Type.Object({ data: Type.Array(TenantDomainView) }) },
    ...notFound,
  },
})

export const verifyTenantDomain = defineOperation({
  id: 'verifyTenantDomain',
  method: 'post',
  path: `${domains}/{id}/verify`,
  tag,
  summary: 'Verify a domain by its DNS record',
  description: `${forOwners} The record is checked again whenever an account is created, so keep it.`,
  access: signedIn,
  effects: ['signIn'],
  limited: true,
  takesLong: true,
  query: ofTenant,
  answers: {
    200: { description: 'The domain', schema: TenantDomainView },
    ...notFound,
  },
})

export const deleteTenantDomain = defineOperation({
  id: 'deleteTenantDomain',
  method: 'delete',
  path: `${domains}/{id}`,
  tag,
  summary: 'Remove a domain',
  description: `${forOwners} Accounts that exist stay.`,
  access: signedIn,
  effects: ['signIn'],
  query: ofTenant,
  answers: { 204: { description: 'Removed' }, ...notFound },
})

export const getSignInPolicy = defineOperation({
  id: 'getSignInPolicy',
  method: 'get',
  path: '/api/tenant/sign-in-policy',
  tag,
  summary: 'Read how members of the tenant sign in',
  description: forOwners,
  access: signedIn,
  query: ofTenant,
  answers: { 200: { description: 'The policy', schema: SignInPolicyView }, ...notFound },
})

export const updateSignInPolicy = defineOperation({
  id: 'updateSignInPolicy',
  method: 'patch',
  path: '/api/tenant/sign-in-policy',
  tag,
  summary: 'Change how members of the tenant sign in',
  description: `${forOwners} It applies to the next request of each session and access token.`,
  access: signedIn,
  effects: ['signIn'],
  query: ofTenant,
  body: SignInPolicyView,
  answers: { 200: { description: 'The policy', schema: SignInPolicyView }, ...notFound },
})

export const oidcOperations = [
  findOidcProviders,
  startOidcSignIn,
  finishOidcSignIn,
  reauthenticateWithProvider,
  endOidcSessions,
  listIdentities,
  linkIdentity,
  unlinkIdentity,
  createOidcProvider,
  listOidcProviders,
  updateOidcProvider,
  deleteOidcProvider,
  createTenantDomain,
  listTenantDomains,
  verifyTenantDomain,
  deleteTenantDomain,
  getSignInPolicy,
  updateSignInPolicy,
]
