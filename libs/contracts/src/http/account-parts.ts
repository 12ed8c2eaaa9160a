import { type Static, Type } from 'typebox'
import { type ProjectRole, projectRoles } from '../project-role.ts'
import { Id, Name, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { ErrorBody, Forbidden, RetryAfterSeconds } from './error-bodies.ts'

/** An email address to register or invite. It is stored in lower case, with its domain in Punycode. */
export const Email = Type.String({ format: 'idn-email', maxLength: 254 })
export const PersonName = Name
export const Role = Type.Unsafe<ProjectRole>({ enum: projectRoles })

/** Minimum and maximum characters of a password. */
const MIN_PASSWORD_LENGTH = 12
const MAX_PASSWORD_LENGTH = 128
export const NewPassword = Type.String({
  minLength: MIN_PASSWORD_LENGTH,
  maxLength: MAX_PASSWORD_LENGTH,
  writeOnly: true,
  description: 'Must not be on the list of common passwords.',
})
/** A password to check. Invalid ones are treated as wrong. */
export const GivenPassword = Type.String({ maxLength: 1_000, writeOnly: true })

export const UserView = Type.Object({
  id: Id,
  email: Type.String(),
  name: Type.String(),
  emailVerifiedAt: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'When the address was confirmed by a link that was mailed to it; null until then.',
  }),
  hasSecondFactor: Type.Boolean({
    description: 'Whether a sign-in needs a code in addition to the password.',
  }),
  createdAt: Timestamp,
})
export type UserView = Static<typeof UserView>

export const TenantView = Type.Object({
  id: Id,
  name: Type.String(),
  requiresSecondFactor: Type.Boolean({
    description: 'Whether its projects are closed to members without a second factor.',
  }),
  createdAt: Timestamp,
})
export type TenantView = Static<typeof TenantView>

export const ProjectView = Type.Object({
  id: Id,
  tenantId: Id,
  name: Type.String(),
  role: Type.Unsafe<ProjectRole | null>({
    enum: [...projectRoles, null],
    description: 'The role of the caller; null for an API key.',
  }),
  createdAt: Timestamp,
})
export type ProjectView = Static<typeof ProjectView>

/** The data that signed-in users see of themselves. */
export const AccountView = Type.Object({
  user: UserView,
  tenant: Type.Unsafe<TenantView | null>({
    anyOf: [TenantView, { type: 'null' }],
    description: 'The tenant of new projects; null when the user has no project.',
  }),
  projects: Type.Array(ProjectView),
  closedProjectIds: Type.Array(Id, {
    description:
      'Those of the projects that are closed to the user (403 `second_factor_required`) until they set up a second factor.',
  }),
})
export type AccountView = Static<typeof AccountView>

/** Responses of public operations that need a store. */
export const openAnswers = {
  403: { description: 'The request comes from a page of another site', schema: Forbidden },
  503: {
    description: 'A store does not answer, or the service is overloaded; retry later',
    schema: RetryAfterSeconds,
  },
} as const

export const notFound = { 404: { description: 'Not found', schema: ErrorBody } } as const
