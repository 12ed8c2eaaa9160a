import type { ApiKeyScope } from './api-key.ts'

/** What members may do in a project, the weakest first; each role may do all that those before it may. */
export const projectRoles = ['viewer', 'editor', 'admin', 'owner'] as const
export type ProjectRole = (typeof projectRoles)[number]

/** The scope with which a key acts as a role; what is left to owners, no key may do. */
export const scopeForRole: Record<ProjectRole, ApiKeyScope | null> = {
  viewer: 'manage:read',
  editor: 'manage:write',
  admin: 'manage:admin',
  owner: null,
}
