import { type Static, Type } from 'typebox'
import { Id, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { AccountView, GivenPassword, openAnswers } from './account-parts.ts'
import { ErrorBody, Unprocessable } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

/** How many recovery codes a user gets. */
export const RECOVERY_CODES = 10
/** How long a sign-in waits for its second factor, in minutes. */
export const CHALLENGE_MINUTES = 5

const code = Type.String({
  maxLength: 100,
  writeOnly: true,
  description: 'Six digits of the authenticator app.',
})
const recoveryCode = Type.String({
  maxLength: 100,
  writeOnly: true,
  description: 'A recovery code, with or without dashes. It is used up.',
})
const oneOf = { minProperties: 1, maxProperties: 1 } as const

const SecondFactorCode = Type.Object(
  { code: Type.Optional(code), recoveryCode: Type.Optional(recoveryCode) },
  { ...oneOf, description: 'One of the two.' },
)
export type SecondFactorCode = Static<typeof SecondFactorCode>

const Reauthentication = Type.Object(
  { ...SecondFactorCode.properties, password: Type.Optional(GivenPassword) },
  { ...oneOf, description: 'A code with a second factor, otherwise the password.' },
)

/** The answer to a right password when the user has a second factor. */
export const SignInChallenge = Type.Object({
  secondFactor: Type.Array(Type.Enum(['code', 'recoveryCode']), {
    description: 'What `POST /api/auth/login/second-factor` accepts.',
  }),
  expiresAt: Timestamp,
})

const SecondFactorView = Type.Object({
  setUpAt: Type.Unsafe<string | null>({ ...NullableTimestamp, description: 'Null without a second factor.' }),
  recoveryCodesLeft: Type.Integer({ minimum: 0 }),
  requiredBy: Type.Array(Type.Object({ id: Id, name: Type.String() }), {
    description: 'The tenants of the user that require a second factor.',
  }),
})

const RecoveryCodesView = Type.Object({
  recoveryCodes: Type.Array(Type.String(), {
    description: `${RECOVERY_CODES} codes, each of which replaces the authenticator app once. They are shown this once.`,
  }),
})

const tag = 'Accounts'
const path = '/api/auth/second-factor'
const access = { by: 'session', tokens: false } as const
const wrongCode = {
  422: { description: 'The code is wrong, was used or has expired', schema: Unprocessable },
}

export const completeLogin = defineOperation({
  id: 'completeLogin',
  method: 'post',
  path: '/api/auth/login/second-factor',
  tag,
  summary: 'Finish a sign-in with the second factor',
  description:
    `In the browser that sent the password, within ${CHALLENGE_MINUTES} minutes. A code is accepted once. ` +
    '`code: sign_in_expired` in the answer 401 means that the password must be sent again.',
  access: { by: 'anyone' },
  management: true,
  limited: true,
  body: SecondFactorCode,
  answers: {
    200: { description: 'The account', schema: AccountView },
    401: {
      description: 'The code is wrong, was used or has expired, or the sign-in has expired',
      schema: Type.Object({ ...ErrorBody.properties, code: Type.Optional(Type.Enum(['sign_in_expired'])) }),
    },
    ...openAnswers,
  },
})

export const reauthenticate = defineOperation({
  id: 'reauthenticate',
  method: 'post',
  path: '/api/auth/reauthenticate',
  tag,
  summary: 'Prove again who is signed in',
  description:
    'For operations that answer 403 with `code: reauthentication_required`: they are allowed for 10 minutes after it, and ' +
    'after a sign-in.',
  access,
  effects: [],
  limited: true,
  body: Reauthentication,
  answers: { 204: { description: 'Proved' }, ...wrongCode },
})

export const getSecondFactor = defineOperation({
  id: 'getSecondFactor',
  method: 'get',
  path,
  tag,
  summary: 'Read whether the signed-in user has a second factor',
  access,
  answers: { 200: { description: 'Its state, without its secret', schema: SecondFactorView } },
})

export const startSecondFactor = defineOperation({
  id: 'startSecondFactor',
  method: 'post',
  path,
  tag,
  summary: 'Create a secret for an authenticator app',
  description:
    'It counts after a code of it was confirmed, and then replaces an earlier one. Another call replaces the secret.',
  access,
  effects: ['signIn'],
  answers: {
    201: {
      description: 'The secret',
      schema: Type.Object({
        secret: Type.String({ description: 'In Base32, to type in.' }),
        uri: Type.String({ description: 'An `otpauth://` URI.' }),
        qrCode: Type.String({ description: 'The URI as a QR code: a `data:` URL of an SVG.' }),
      }),
    },
  },
})

export const confirmSecondFactor = defineOperation({
  id: 'confirmSecondFactor',
  method: 'post',
  path: `${path}/confirm`,
  tag,
  summary: 'Confirm the secret with a code of the authenticator app',
  description:
    'From now on a sign-in needs a code. All other sessions end, earlier recovery codes are replaced, and the user is notified by email.',
  access,
  effects: ['signIn'],
  limited: true,
  body: Type.Object({ code }),
  answers: { 200: { description: 'The recovery codes', schema: RecoveryCodesView }, ...wrongCode },
})

export const renewRecoveryCodes = defineOperation({
  id: 'renewRecoveryCodes',
  method: 'post',
  path: `${path}/recovery-codes`,
  tag,
  summary: 'Replace the recovery codes',
  description: 'The user is notified by email.',
  access,
  effects: ['signIn', 'secret'],
  answers: {
    200: { description: 'The recovery codes', schema: RecoveryCodesView },
    422: { description: 'The user has no second factor', schema: Unprocessable },
  },
})

export const removeSecondFactor = defineOperation({
  id: 'removeSecondFactor',
  method: 'delete',
  path,
  tag,
  summary: 'Remove the second factor',
  description: 'All other sessions end, and the user is notified by email.',
  access,
  effects: ['signIn'],
  answers: {
    204: { description: 'A sign-in needs the password only' },
    422: { description: 'A tenant of the user requires it', schema: Unprocessable },
  },
})

export const secondFactorOperations = [
  completeLogin,
  reauthenticate,
  getSecondFactor,
  startSecondFactor,
  confirmSecondFactor,
  renewRecoveryCodes,
  removeSecondFactor,
]
