import { Type } from 'typebox'
import { patternOf } from './schema-parts.ts'

/** The environment of keys that name no other one, which the status and rules of a decision itself are for. */
export const PRODUCTION = 'production'

/** The environments that every project has. */
export const builtInEnvironments = [PRODUCTION, 'staging'] as const

/** Maximum number of environments of a project beside the built-in ones. */
export const MAX_OWN_ENVIRONMENTS = 10

/** The key of an environment. */
export const EnvironmentKey = Type.String({
  ...patternOf(
    '^[a-z][a-z0-9-]{0,49}$',
    '1 to 50 lower-case letters, digits and `-`, of which the first is a letter',
  ),
})
