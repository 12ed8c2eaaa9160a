import { Type } from 'typebox'
import { ValidationItem } from './track-result.ts'

/** The body of every error. */
export const ErrorBody = Type.Object({
  error: Type.String({ description: 'A message or a code.' }),
  errors: Type.Optional(Type.Array(ValidationItem, { description: 'The problem of each field.' })),
})

/** 422: the errors by field. */
export const Unprocessable = Type.Object({ error: Type.String(), errors: Type.Array(ValidationItem) })

/** 403: the missing scope or role, or what the user has to do first. */
export const Forbidden = Type.Object({
  error: Type.String(),
  requiredScope: Type.Optional(Type.String({ description: 'The scope that the key lacks.' })),
  requiredRole: Type.Optional(Type.String({ description: 'The role that the member lacks.' })),
  code: Type.Optional(
    Type.Enum(
      ['reauthentication_required', 'second_factor_required', 'password_required', 'approval_required'],
      {
        description:
          '`reauthentication_required`: send `POST /api/auth/reauthenticate`, or `POST /api/auth/oidc/reauthenticate` if ' +
          '`method` is `provider`, then the request again. ' +
          '`second_factor_required`: the tenant requires a second factor, which the user has to set up first. ' +
          '`password_required`: an address is confirmed with the session or the password of its account. ' +
          '`approval_required`: the project requires approvals of the change, which has to be proposed.',
      },
    ),
  ),
  method: Type.Optional(
    Type.Enum(['code', 'password', 'provider'], {
      description: 'How the user proves who they are.',
    }),
  ),
})

/** 429 and 503 of ingestion, decisions, coupons and links. */
export const RetryAfter = Type.Object({
  error: Type.String(),
  retryAfter: Type.Integer({ description: 'In seconds.' }),
})

/** 429 and 503 of the management API. */
export const RetryAfterSeconds = Type.Object({ error: Type.String(), retryAfterSeconds: Type.Integer() })
