import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useAccount } from '../api/session.ts'
import type { OidcProvider, Role } from '../api/types.ts'
import { Button } from '../ui/button.tsx'
import { Form, Input, Select } from '../ui/form.tsx'

type Mapping = OidcProvider['roleMappings'][number]
const ROLES = ['viewer', 'editor', 'admin', 'owner'] as const

/** Adds a provider, or changes one. */
export const ProviderForm = ({
  tenantId,
  provider,
  onDone,
  onCancel,
}: {
  tenantId: string
  provider?: OidcProvider
  onDone: () => void
  onCancel: () => void
}) => {
  const query = { tenantId }
  const projects = (useAccount()?.projects ?? []).filter((one) => one.tenantId === tenantId)
  const owned = projects.filter(({ role }) => role === 'owner')
  const isOwn = ({ projectId }: Mapping) => owned.some(({ id }) => id === projectId)
  // Those of projects with other owners stay as they are.
  const foreign = provider?.roleMappings.filter((mapping) => !isOwn(mapping)) ?? []
  const [mappings, setMappings] = useState<readonly Mapping[]>(
    provider?.roleMappings.filter(isOwn) ??
      owned.slice(0, 1).map(({ id }) => ({ projectId: id, group: null, role: 'viewer' })),
  )
  const change = (at: number, part: Partial<Mapping>) =>
    setMappings(mappings.map((mapping, index) => (index === at ? { ...mapping, ...part } : mapping)))
  const save = useChange(
    async (values: Record<string, string>) => {
      const {
        name = '',
        issuer = '',
        clientId = '',
        clientSecret = '',
        groupsClaim = '',
        scopes = '',
      } = values
      const body = {
        name,
        clientId,
        ...(clientSecret !== '' && { clientSecret }),
        groupsClaim: groupsClaim || 'groups',
        scopes: [...new Set(scopes.split(/\s+/).filter(Boolean))],
        roleMappings: [...mappings, ...foreign],
      }
      return provider
        ? unwrap(
            api.PATCH('/api/tenant/oidc-providers/{id}', {
              params: { path: { id: provider.id }, query },
              body,
            }),
          )
        : unwrap(api.POST('/api/tenant/oidc-providers', { params: { query }, body: { ...body, issuer } }))
    },
    { done: provider ? 'Provider saved' : 'Provider added', quiet: true, onDone },
  )
  return (
    <Form
      submit={provider ? 'Save' : 'Add provider'}
      busy={save.isPending}
      error={save.error}
      names={['name', 'issuer', 'clientId', 'clientSecret', 'groupsClaim', 'scopes']}
      onCancel={onCancel}
      onSubmit={(values) => save.mutate(values)}
    >
      <Input
        label="Name"
        name="name"
        required
        maxLength={200}
        defaultValue={provider?.name}
        placeholder="Company"
      />
      {!provider && (
        <Input
          label="Issuer"
          name="issuer"
          type="url"
          required
          maxLength={500}
          placeholder="https://login.shop.example/realms/shop"
          hint="It cannot be changed later."
        />
      )}
      <Input label="Client id" name="clientId" required maxLength={200} defaultValue={provider?.clientId} />
      <Input
        label="Client secret"
        name="clientSecret"
        type="password"
        autoComplete="off"
        maxLength={1_000}
        hint={
          provider?.hasClientSecret
            ? 'Left empty, it stays. It is never shown.'
            : 'Left empty for a public client.'
        }
      />
      <Input
        label="Groups claim"
        name="groupsClaim"
        maxLength={200}
        placeholder="groups"
        defaultValue={provider?.groupsClaim}
      />
      <Input
        label="More scopes"
        name="scopes"
        defaultValue={provider?.scopes.join(' ')}
        hint="Besides openid, email and profile, separated by spaces."
      />
      <fieldset className="flex flex-col gap-3">
        <legend className="mb-1 font-medium">Roles at each sign-in</legend>
        <p className="text-muted">Of a project, for the members of a group. Without a group, for everyone.</p>
        {mappings.map(({ projectId, group, role }, at) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no other identity
            key={at}
            className="grid grid-cols-[1fr_auto] items-end gap-2 sm:grid-cols-[1.4fr_1fr_auto_auto]"
          >
            <Select
              label={`Project of role ${at + 1}`}
              hideLabel
              className="max-sm:col-span-2"
              value={projectId}
              onChange={(event) => change(at, { projectId: event.target.value })}
              options={owned.map(({ id, name }) => [id, name] as const)}
            />
            <Input
              label={`Group of role ${at + 1}`}
              hideLabel
              className="max-sm:col-span-2"
              placeholder="everyone"
              value={group ?? ''}
              maxLength={200}
              onChange={(event) => change(at, { group: event.target.value || null })}
            />
            <Select
              label={`Role ${at + 1}`}
              hideLabel
              value={role}
              onChange={(event) => change(at, { role: event.target.value as Role })}
              options={ROLES.map((one) => [one, one] as const)}
            />
            <Button
              small
              look="quiet"
              icon="x"
              aria-label={`Remove role ${at + 1}`}
              onClick={() => setMappings(mappings.filter((_, index) => index !== at))}
            />
          </div>
        ))}
        <div>
          <Button
            small
            icon="plus"
            disabled={owned.length === 0}
            onClick={() =>
              setMappings([...mappings, { projectId: owned[0]?.id ?? '', group: null, role: 'viewer' }])
            }
          >
            Add role
          </Button>
        </div>
      </fieldset>
    </Form>
  )
}
