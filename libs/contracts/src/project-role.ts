import type { ApiKeyScope } from './api-key.ts'

/** The roles of members, the weakest first. Each role includes the permissions of the previous ones. */
export const projectRoles = ['viewer', 'editor', 'admin', 'owner'] as const
export type ProjectRole = (typeof projectRoles)[number]

/** The scope with which a key has the permissions of a role. No scope has those of owners. */
export const scopeForRole: Record<ProjectRole, ApiKeyScope | null> = {
  viewer: 'manage:read',
  editor: 'manage:write',
  admin: 'manage:admin',
  owner: null,
}
