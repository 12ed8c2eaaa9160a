/** What an API key may be allowed to do. `manage:*` act as the project roles viewer, editor and admin. */
export const apiKeyScopes = [
  'events:write',
  'events:backfill',
  'decide',
  'coupons:redeem',
  'coupons:read',
  'links:read',
  'tenant:read',
  'manage:read',
  'manage:write',
  'manage:admin',
] as const
export type ApiKeyScope = (typeof apiKeyScopes)[number]

/** `pub` keys are seen by browsers, `sec` keys stay on servers. */
export type ApiKeyKind = 'pub' | 'sec'
