/** The scopes of API keys. `manage:*` correspond to the project roles viewer, editor and admin. */
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

/** `pub` keys are for browsers, `sec` keys for servers. */
export type ApiKeyKind = 'pub' | 'sec'
