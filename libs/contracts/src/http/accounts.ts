import { type Static, Type } from 'typebox'
import { Id, Name, NullableString, Timestamp } from '../schema-parts.ts'
import {
  AccountView,
  Email,
  GivenPassword,
  NewPassword,
  notFound,
  openAnswers,
  PersonName,
} from './account-parts.ts'
import { ErrorBody, Forbidden } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'
import { SignInChallenge } from './second-factor.ts'

const Registration = Type.Object({
  email: Email,
  password: NewPassword,
  name: PersonName,
  tenantName: Type.Optional(
    Type.String({ ...Name, description: 'The name of your company. Default: your own name.' }),
  ),
  invitationToken: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'The token of an invitation to this address. The account joins the project of the invitation and gets no tenant of its own. ' +
        'Required when registration is by invitation only.',
    }),
  ),
})
export type Registration = Static<typeof Registration>

const Credentials = Type.Object({ email: Type.String({ maxLength: 1_000 }), password: GivenPassword })
const PasswordResetRequest = Type.Object({ email: Email })
const MailedToken = Type.String({
  maxLength: 200,
  writeOnly: true,
  description: 'The token of the link in the email.',
})
const PasswordReset = Type.Object({ token: MailedToken, password: NewPassword })
const EmailVerification = Type.Object({
  token: MailedToken,
  password: Type.Optional(
    Type.String({
      maxLength: 1_000,
      writeOnly: true,
      description: 'The password of the account. Not needed with its session.',
    }),
  ),
})
const PasswordChange = Type.Object({ currentPassword: GivenPassword, newPassword: NewPassword })

export const SessionView = Type.Object({
  id: Id,
  current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  userAgent: NullableString,
  network: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The network in which it started: a /24 for IPv4, a /48 for IPv6.',
  }),
  createdAt: Timestamp,
  lastSeenAt: Type.String({ format: 'date-time', description: 'The last use, to the hour.' }),
  expiresAt: Timestamp,
})
export type SessionView = Static<typeof SessionView>

const tag = 'Accounts'
const signedIn = 'With a cookie that carries the session for 7 days, and longer while it is used.'

export const register = defineOperation({
  id: 'register',
  method: 'post',
  path: '/api/auth/register',
  tag,
  summary: 'Create an account with a tenant and a first project',
  description:
    `${signedIn} REGISTRATION_MODE of the deployment allows it to everyone, to people with an invitation, or to no one. ` +
    'The answer 403 says which.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  body: Registration,
  answers: {
    201: { description: 'The account', schema: AccountView },
    ...openAnswers,
    403: {
      description: 'Registration is closed to the caller, or the request comes from a page of another site',
      schema: Forbidden,
    },
    404: { description: 'The invitation does not exist or was used', schema: ErrorBody },
  },
})

export const login = defineOperation({
  id: 'login',
  method: 'post',
  path: '/api/auth/login',
  tag,
  summary: 'Sign in',
  description: signedIn,
  access: { by: 'anyone' },
  management: true,
  limited: true,
  body: Credentials,
  answers: {
    200: { description: 'The account', schema: AccountView },
    202: {
      description:
        'The password is right; `POST /api/auth/login/second-factor` from the same browser finishes the sign-in',
      schema: SignInChallenge,
    },
    401: { description: 'The account does not exist, or the password is wrong', schema: ErrorBody },
    ...openAnswers,
  },
})

export const logout = defineOperation({
  id: 'logout',
  method: 'post',
  path: '/api/auth/logout',
  tag,
  summary: 'Sign out',
  access: { by: 'session', tokens: false, providers: true },
  effects: [],
  answers: { 204: { description: 'The session has ended' } },
})

export const getAccount = defineOperation({
  id: 'getAccount',
  method: 'get',
  path: '/api/auth/me',
  tag,
  summary: 'Read the signed-in user',
  access: { by: 'session' },
  answers: { 200: { description: 'The account', schema: AccountView } },
})

export const listSessions = defineOperation({
  id: 'listSessions',
  method: 'get',
  path: '/api/auth/sessions',
  tag,
  summary: 'List the sessions of the signed-in user',
  access: { by: 'session', tokens: false, providers: true },
  query: PageQuery,
  answers: { 200: { description: 'A page of sessions, the newest first', schema: pageOf(SessionView) } },
})

export const endSession = defineOperation({
  id: 'endSession',
  method: 'delete',
  path: '/api/auth/sessions/{id}',
  tag,
  summary: 'End a session',
  access: { by: 'session', tokens: false, providers: true },
  effects: [],
  answers: { 204: { description: 'The session has ended' }, ...notFound },
})

export const endOtherSessions = defineOperation({
  id: 'endOtherSessions',
  method: 'delete',
  path: '/api/auth/sessions',
  tag,
  summary: 'End all other sessions of the signed-in user',
  description:
    'Everywhere except in the browser that asks. Programs keep their access tokens unless `accessTokens` is `revoke`.',
  access: { by: 'session', tokens: false, providers: true },
  effects: [],
  query: Type.Object({
    accessTokens: Type.Optional(
      Type.Enum(['keep', 'revoke'], {
        default: 'keep',
        description: '`revoke` also revokes all personal access tokens of the user.',
      }),
    ),
  }),
  answers: { 204: { description: 'The other sessions have ended' } },
})

export const changePassword = defineOperation({
  id: 'changePassword',
  method: 'post',
  path: '/api/auth/change-password',
  tag,
  summary: 'Change the password',
  description:
    'Ends all other sessions and notifies the user by email. Access tokens stay valid. Wrong current passwords count as failed sign-ins.',
  access: { by: 'session', tokens: false },
  effects: [],
  limited: true,
  body: PasswordChange,
  answers: { 204: { description: 'Changed' } },
})

export const forgotPassword = defineOperation({
  id: 'forgotPassword',
  method: 'post',
  path: '/api/auth/forgot-password',
  tag,
  summary: 'Request an email with a link that resets the password',
  description:
    'The answer is the same whether or not the address has an account. The link is valid once and for 1 hour.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  body: PasswordResetRequest,
  answers: { 202: { description: 'Accepted; an account with this address gets the email' }, ...openAnswers },
})

export const resetPassword = defineOperation({
  id: 'resetPassword',
  method: 'post',
  path: '/api/auth/reset-password',
  tag,
  summary: 'Set a new password with the token of an email',
  description:
    'Ends all sessions of the user, revokes their access tokens, confirms the address and notifies the user by email. ' +
    'If the address was never confirmed, what was set up before is removed: the second factor, linked providers, keys of ' +
    'kind `sec`, pending invitations, and providers that no one else owns; webhooks are paused. A used, expired or unknown token answers 422 with the field `token`.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  body: PasswordReset,
  answers: { 204: { description: 'The password is set; sign in with it' }, ...openAnswers },
})

export const sendVerification = defineOperation({
  id: 'sendVerification',
  method: 'post',
  path: '/api/auth/send-verification',
  tag,
  summary: 'Request an email with a link that confirms the own address',
  description: 'The link is valid once and for 24 hours. Registration sends the first one.',
  access: { by: 'session', tokens: false },
  effects: [],
  limited: true,
  answers: { 202: { description: 'Accepted; an address that is confirmed already gets no email' } },
})

export const verifyEmail = defineOperation({
  id: 'verifyEmail',
  method: 'post',
  path: '/api/auth/verify-email',
  tag,
  summary: 'Confirm an address with the token of an email',
  description:
    'Needs the session of the account, or its `password`: whoever gets the email may not be the one who registered the ' +
    'address. Without both the answer is 403 with `code: password_required`. The owner of an address that someone else has ' +
    'registered sets a new password instead, which removes what was set up before. A used, expired or unknown token answers ' +
    '422 with the field `token`.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  body: EmailVerification,
  answers: {
    204: { description: 'The address is confirmed' },
    ...openAnswers,
    403: {
      description:
        'The request has neither the session nor the password of the account, or comes from a page of another site',
      schema: Forbidden,
    },
  },
})

export const accountOperations = [
  register,
  login,
  logout,
  getAccount,
  listSessions,
  endSession,
  endOtherSessions,
  changePassword,
  forgotPassword,
  resetPassword,
  sendVerification,
  verifyEmail,
]
