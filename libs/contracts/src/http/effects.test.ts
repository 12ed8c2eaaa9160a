import { describe, expect, it } from 'vitest'
import { conditionalEffects, constantEffects, type Effect, effectRequirements } from './effects.ts'
import { operations } from './operations.ts'

const byUsers = operations.filter(({ access }) => access.by !== 'anyone' && access.by !== 'key')
const changing = byUsers.filter(({ method, readOnly }) => method !== 'get' && !readOnly)

const operationOf = (id: string) => {
  const found = operations.find((operation) => operation.id === id)
  if (!found) throw new Error(`no operation ${id}`)
  return found
}

/** Written by hand, so that an operation that loses an effect fails. */
const constant: Record<Effect, string[]> = {
  role: ['createInvitation', 'createOidcProvider', 'updateOidcProvider'],
  ownership: [],
  credential: ['createAccessToken', 'createApiKey', 'rotateApiKey'],
  secret: ['getIdentitySecret', 'renewRecoveryCodes', 'rotateIdentitySecret', 'rotateWebhookSecret'],
  signIn: [
    'confirmSecondFactor',
    'createOidcProvider',
    'createTenantDomain',
    'deleteOidcProvider',
    'deleteTenantDomain',
    'linkIdentity',
    'removeSecondFactor',
    'renewRecoveryCodes',
    'resetSecondFactor',
    'startSecondFactor',
    'unlinkIdentity',
    'updateOidcProvider',
    'updateSignInPolicy',
    'verifyTenantDomain',
  ],
  destination: ['createEmailSender', 'createOidcProvider', 'createShare', 'createWebhook'],
  deletion: ['removeDemoData'],
  approval: ['bypassProposal'],
  erasure: ['archiveProject', 'eraseProfile'],
}

describe('the effects of operations', () => {
  it.each(changing)('are declared for $id', ({ effects }) => {
    expect(effects).toBeDefined()
  })

  it.each(Object.entries(constant))('%s', (effect, ids) => {
    const declaring = operations.filter(({ effects }) => constantEffects(effects).includes(effect as Effect))
    expect(declaring.map(({ id }) => id).toSorted()).toEqual(ids)
  })

  it('refuse access tokens before the body is read, where they refuse them in all requests', () => {
    const taking = byUsers.filter(
      ({ access, effects }) =>
        !('tokens' in access && access.tokens === false) &&
        constantEffects(effects).some((effect) => effectRequirements[effect].accessTokens === 'refused'),
    )
    expect(taking.map(({ id }) => id)).toEqual([])
  })

  const longAgo = '2026-01-01T00:00:00Z'
  const later = '2027-01-01T00:00:00Z'
  const webhook = { url: 'https://shop.example/hook' }
  const key = { scopes: ['decide'], allowedOrigins: ['https://a.example'], expiresAt: new Date(longAgo) }
  const share = { expiresAt: new Date(longAgo), hasPassword: true, frameHosts: ['a.example'] }
  const open = { scopes: ['decide'], allowedOrigins: [], expiresAt: null }
  it.each<[id: string, body: object, before: object, effects: Effect[]]>([
    ['updateSettings', { retentionDays: 1 }, {}, ['deletion']],
    ['updateSettings', { retentionDays: 1 }, { retentionDays: 2 }, ['deletion']],
    ['updateSettings', { retentionDays: 2 }, { retentionDays: 2 }, []],
    ['updateSettings', { retentionDays: null }, { retentionDays: 2 }, []],
    ['updateSettings', { deduplicationDays: 30 }, {}, ['deletion']],
    ['updateSettings', { deduplicationDays: 30 }, { deduplicationDays: 31 }, ['deletion']],
    ['updateSettings', { deduplicationDays: 31 }, { deduplicationDays: 30 }, []],
    ['updateSettings', { deduplicationDays: null }, { deduplicationDays: 30 }, []],
    ['updateSettings', { ipStorage: 'drop' }, { retentionDays: 2 }, []],
    ['updateSettings', { archiveEvents: true }, {}, ['destination']],
    ['updateSettings', { archiveEvents: true }, { archiveEvents: true }, []],
    ['updateSettings', { archiveEvents: false }, { archiveEvents: true }, []],
    ['updateSettings', { identityVerification: null }, { identityVerification: 'required' }, ['secret']],
    [
      'updateSettings',
      { identityVerification: 'optional' },
      { identityVerification: 'required' },
      ['secret'],
    ],
    ['updateSettings', { identityVerification: 'required' }, {}, []],
    ['updateSettings', { approvals: { required: 2 } }, { approvals: { required: 1 } }, []],
    ['updateSettings', { approvals: { required: 1 } }, { approvals: { required: 2 } }, ['approval']],
    ['updateSettings', { approvals: null }, { approvals: { required: 1 } }, ['approval']],
    ['updateSettings', { approvals: null }, {}, []],
    ['updateSettings', { approvals: { required: 1, roles: ['admin'] } }, { approvals: { required: 1 } }, []],
    [
      'updateSettings',
      { approvals: { required: 1 } },
      { approvals: { required: 1, roles: ['admin'] } },
      ['approval'],
    ],
    [
      'updateSettings',
      { approvals: { required: 2, environments: { staging: { required: 1 } } } },
      { approvals: { required: 2 } },
      ['approval'],
    ],
    [
      'updateSettings',
      { approvals: { required: 1 } },
      { approvals: { environments: { production: { required: 1 } } } },
      [],
    ],
    ['updateWebhook', { url: 'https://elsewhere.example/' }, webhook, ['destination']],
    ['updateWebhook', webhook, webhook, []],
    ['updateWebhook', { status: 'paused' }, webhook, []],
    ['updateShare', { name: 'Board' }, share, []],
    ['updateShare', { expiresAt: later }, share, ['destination']],
    ['updateShare', { expiresAt: null }, share, ['destination']],
    ['updateShare', { expiresAt: longAgo }, { ...share, expiresAt: new Date(later) }, []],
    ['updateShare', { expiresAt: later }, { ...share, expiresAt: null }, []],
    ['updateShare', { password: null }, share, ['destination']],
    ['updateShare', { password: 'another one' }, share, ['destination']],
    ['updateShare', { password: 'a first one' }, { ...share, hasPassword: false }, []],
    ['updateShare', { frameHosts: ['a.example', 'b.example'] }, share, ['destination']],
    ['updateShare', { frameHosts: [] }, share, []],
    ['updateApiKey', { name: 'Shop' }, key, []],
    ['updateApiKey', { scopes: ['decide', 'manage:admin'] }, key, ['credential']],
    ['updateApiKey', { scopes: [] }, key, []],
    ['updateApiKey', { expiresAt: later }, key, ['credential']],
    ['updateApiKey', { expiresAt: null }, key, ['credential']],
    ['updateApiKey', { expiresAt: '2025-01-01T00:00:00Z' }, key, []],
    ['updateApiKey', { expiresAt: later }, open, []],
    ['updateApiKey', { allowedOrigins: ['https://b.example'] }, key, ['credential']],
    ['updateApiKey', { allowedOrigins: [] }, key, ['credential']],
    ['updateApiKey', { allowedOrigins: ['https://b.example'] }, open, []],
    ['changeMember', { role: 'admin' }, { role: 'viewer' }, ['role']],
    ['changeMember', { role: 'viewer' }, { role: 'admin' }, []],
    ['changeMember', { role: 'admin' }, { role: 'admin' }, []],
    ['changeMember', { role: 'owner' }, { role: 'admin' }, ['role', 'ownership']],
    ['changeMember', { role: 'admin' }, { role: 'owner' }, ['ownership']],
    ['removeMember', {}, { role: 'owner' }, ['ownership']],
    ['removeMember', {}, { role: 'admin' }, []],
    ['leaveProject', {}, { role: 'owner' }, ['ownership']],
    ['leaveProject', {}, { role: 'viewer' }, []],
    ['updateTenantProfile', { requiresSecondFactor: false }, {}, ['signIn']],
    ['updateTenantProfile', { name: 'Shop' }, {}, []],
  ])('%s with %j of %j', (id, body, before, effects) => {
    const found = conditionalEffects(operationOf(id).effects).filter(({ when }) =>
      when({ body, query: {}, before: { ...before } }),
    )
    expect(found.map(({ effect }) => effect)).toEqual(effects)
  })
})
