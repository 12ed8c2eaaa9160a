import {
  type ApiKeyScope,
  apiKeyScopes,
  type ProjectRole,
  projectRoles,
  scopeForRole,
} from '@waymark/contracts'

/** Whether a role may do what another may: it is that one or a stronger one. */
export const roleAllows = (held: ProjectRole, needed: ProjectRole): boolean =>
  projectRoles.indexOf(held) >= projectRoles.indexOf(needed)

/** The stronger of two roles. */
export const strongerRole = (one: ProjectRole, other: ProjectRole): ProjectRole =>
  roleAllows(one, other) ? one : other

/** What a member may do, as the scopes of a key: all that are not for managing, and those of the role and below. */
export const scopesOfRole = (role: ProjectRole): ApiKeyScope[] => {
  const beyond = projectRoles.filter((other) => !roleAllows(role, other)).map((other) => scopeForRole[other])
  return apiKeyScopes.filter((scope) => !beyond.includes(scope))
}

/** The strongest role that scopes stand for; undefined when they are not for managing. */
export const roleOfScopes = (scopes: readonly ApiKeyScope[]): ProjectRole | undefined =>
  projectRoles.findLast((role) => {
    const scope = scopeForRole[role]
    return scope !== null && scopes.includes(scope)
  })
