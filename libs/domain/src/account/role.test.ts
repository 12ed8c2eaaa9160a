import { describe, expect, it } from 'vitest'
import { scopeAllows } from '../key/api-key.ts'
import { roleAllows, roleOfScopes, scopesOfRole, strongerRole } from './role.ts'

describe('roles', () => {
  it('include the permissions of weaker ones', () => {
    expect(roleAllows('admin', 'admin')).toBe(true)
    expect(roleAllows('owner', 'viewer')).toBe(true)
    expect(roleAllows('viewer', 'editor')).toBe(false)
    expect(strongerRole('viewer', 'admin')).toBe('admin')
    expect(strongerRole('owner', 'admin')).toBe('owner')
  })

  it.each([
    ['viewer', 'manage:read', 'manage:write'],
    ['editor', 'manage:write', 'manage:admin'],
  ] as const)('hold as %s the scope %s and not %s', (role, held, beyond) => {
    expect(scopesOfRole(role)).toContain('coupons:redeem')
    expect(scopeAllows(scopesOfRole(role), held)).toBe(true)
    expect(scopeAllows(scopesOfRole(role), beyond)).toBe(false)
  })

  it.each(['admin', 'owner'] as const)('hold every scope as %s', (role) => {
    expect(scopesOfRole(role)).toHaveLength(10)
  })

  it('follow from the scopes of a key', () => {
    expect(roleOfScopes(['decide'])).toBeUndefined()
    expect(roleOfScopes(['manage:read', 'decide'])).toBe('viewer')
    expect(roleOfScopes(['manage:admin', 'manage:read'])).toBe('admin')
  })
})
