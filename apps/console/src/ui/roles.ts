/** The roles of a project, with the names of those who have them. */
export const ROLES = [
  ['owner', 'Owners'],
  ['admin', 'Admins'],
  ['editor', 'Editors'],
  ['viewer', 'Viewers'],
] as const
export type Role = (typeof ROLES)[number][0]

/** Those of the roles that are known, in their order. */
export const knownRoles = (roles: readonly string[]): Role[] =>
  ROLES.flatMap(([role]) => (roles.includes(role) ? [role] : []))
