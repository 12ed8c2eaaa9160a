import { type ApiKeyScope, apiKeyScopes } from '@waymark/contracts/api-key'
import { type ProjectRole, projectRoles, scopeForRole } from '@waymark/contracts/project-role'

/** Whether a role includes the permissions of another. */
export const roleAllows = (held: ProjectRole, needed: ProjectRole): boolean =>
  projectRoles.indexOf(held) >= projectRoles.indexOf(needed)

/** The stronger of two roles. */
export const strongerRole = (one: ProjectRole, other: ProjectRole): ProjectRole =>
  roleAllows(one, other) ? one : other

/** The scopes of a member: all that are not `manage:*`, and those of the role and weaker ones. */
export const scopesOfRole = (role: ProjectRole): ApiKeyScope[] => {
  const beyond = projectRoles.filter((other) => !roleAllows(role, other)).map((other) => scopeForRole[other])
  return apiKeyScopes.filter((scope) => !beyond.includes(scope))
}

/** The strongest role that scopes include. Undefined without a `manage:*` scope. */
export const roleOfScopes = (scopes: readonly ApiKeyScope[]): ProjectRole | undefined =>
  projectRoles.findLast((role) => {
    const scope = scopeForRole[role]
    return scope !== null && scopes.includes(scope)
  })
