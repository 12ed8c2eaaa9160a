import { type Static, Type } from 'typebox'
import { EnvironmentKey } from './environment.ts'

/** The roles whose members may approve changes of decisions. */
export const approverRoles = ['editor', 'admin', 'owner'] as const
export type ApproverRole = (typeof approverRoles)[number]

/** The most approvals that a change may need. */
export const MAX_APPROVALS = 3

const Required = Type.Integer({
  minimum: 1,
  maximum: MAX_APPROVALS,
  description: 'How many members other than the authors must approve a change of a decision.',
})
const Roles = Type.Array(Type.Enum([...approverRoles]), {
  minItems: 1,
  maxItems: approverRoles.length,
  uniqueItems: true,
  description: 'The roles that may approve; all of these unless set. A stronger role is not implied.',
})
const OfEnvironment = Type.Object(
  { required: Required, roles: Type.Optional(Roles) },
  { additionalProperties: false },
)

/** Which approvals changes of decisions need, in the project and in environments. */
export const Approvals = Type.Object(
  {
    required: Type.Optional(Required),
    roles: Type.Optional(Roles),
    environments: Type.Optional(
      Type.Unsafe<Record<string, Static<typeof OfEnvironment>>>({
        type: 'object',
        propertyNames: EnvironmentKey,
        additionalProperties: OfEnvironment,
        description: 'Those of environments by their keys, in place of those of the project.',
      }),
    ),
  },
  { additionalProperties: false },
)
/** As stored, and as sent: null resets a member. */
export type Approvals = {
  required?: number | null | undefined
  roles?: readonly ApproverRole[] | null | undefined
  environments?: Readonly<Record<string, Static<typeof OfEnvironment>>> | null | undefined
}

/** How many members with which roles must approve. */
export type Requirement = { required: number; roles: readonly ApproverRole[] }

/** What an environment requires. Undefined when its changes need no approval. */
export const requirementIn = (
  { required, roles, environments }: Approvals,
  environment: string,
): Requirement | undefined => {
  const own = environments && Object.hasOwn(environments, environment) ? environments[environment] : undefined
  if (own) return { required: own.required, roles: own.roles ?? approverRoles }
  return required == null ? undefined : { required, roles: roles ?? approverRoles }
}

/** Whether other approvals require less than before, in any environment. */
export const areWeaker = (after: Approvals, before: Approvals): boolean => {
  const named = [...Object.keys(before.environments ?? {}), ...Object.keys(after.environments ?? {})]
  // No environment has an empty key: it stands for those that are not named.
  return [...named, ''].some((environment) => {
    const old = requirementIn(before, environment)
    const own = requirementIn(after, environment)
    if (!old) return false
    return !own || own.required < old.required || own.roles.some((role) => !old.roles.includes(role))
  })
}
