import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProject } from '../api/session.ts'
import type { TenantDomain } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { Verification } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card, Facts } from '../ui/card.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, Input, Switch } from '../ui/form.tsx'
import { EmptyState, ErrorState, Notice, SkeletonLines } from '../ui/states.tsx'
import { SettingsHeader } from './header.tsx'
import { ProviderForm } from './provider-form.tsx'
import { RoleRequired } from './role-required.tsx'

/** The providers of the project's tenant, its domains, and whether its members must use them. */
export const SingleSignOn = () => {
  const isOwner = useMay('owner')
  const tenantId = useProject()?.tenantId
  if (!isOwner || tenantId === undefined)
    return (
      <>
        <SettingsHeader />
        <RoleRequired needed="owner" />
      </>
    )
  return (
    <>
      <SettingsHeader />
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Providers tenantId={tenantId} />
        <Domains tenantId={tenantId} />
        <Policy tenantId={tenantId} />
      </div>
    </>
  )
}

const Providers = ({ tenantId }: { tenantId: string }) => {
  const query = { tenantId }
  const [search, setSearch] = useUrlState<'provider'>()
  const list = useQuery({
    queryKey: ['oidc-providers', tenantId],
    queryFn: () => unwrap(api.GET('/api/tenant/oidc-providers', { params: { query } })),
  })
  const remove = useChange(
    (id: string) =>
      unwrap(api.DELETE('/api/tenant/oidc-providers/{id}', { params: { path: { id }, query } })),
    { done: 'Provider removed', quiet: true },
  )
  const close = () => setSearch({ provider: '' }, { replace: true })
  const isNew = search.provider === 'new'
  const edited = list.data?.data.find(({ id }) => id === search.provider)
  return (
    <Card
      title="Providers"
      description="Members sign in with OpenID Connect, such as Keycloak, Google or Microsoft Entra."
      className="lg:col-span-2"
      padded
      actions={
        <Button small icon="plus" onClick={() => setSearch({ provider: 'new' })}>
          Add provider
        </Button>
      }
    >
      {list.error && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && <SkeletonLines lines={3} />}
      {list.data?.data.length === 0 && <EmptyState icon="key" title="No providers" />}
      <ul className="flex flex-col gap-4">
        {list.data?.data.map((provider) => (
          <ListItem
            key={provider.id}
            name={provider.name}
            actions={
              <Button small onClick={() => setSearch({ provider: provider.id })}>
                Edit {provider.name}
              </Button>
            }
            onRemove={() => remove.mutateAsync(provider.id)}
            removal="Its users are signed out and unlinked. They keep their roles, and can set a password by email."
          >
            <Facts
              rows={[
                ['Issuer', provider.issuer],
                ['Client', provider.clientId],
                ['Redirect address', <code key="r">{provider.redirectUri}</code>],
                ['Back-channel log-out', <code key="l">{provider.backchannelLogoutUri}</code>],
                [
                  'Sign-in link',
                  <code key="s">{`${location.origin}/console/sign-in?provider=${provider.id}`}</code>,
                ],
              ]}
            />
          </ListItem>
        ))}
      </ul>
      <Modal
        open={isNew || edited !== undefined}
        onClose={close}
        title={isNew ? 'Add provider' : 'Edit provider'}
      >
        {(isNew || edited) && (
          <ProviderForm
            tenantId={tenantId}
            {...(edited && { provider: edited })}
            onDone={close}
            onCancel={close}
          />
        )}
      </Modal>
    </Card>
  )
}

const Domains = ({ tenantId }: { tenantId: string }) => {
  const query = { tenantId }
  const list = useQuery({
    queryKey: ['tenant-domains', tenantId],
    queryFn: () => unwrap(api.GET('/api/tenant/domains', { params: { query } })),
  })
  const add = useChange(
    (domain: string) => unwrap(api.POST('/api/tenant/domains', { params: { query }, body: { domain } })),
    { quiet: true },
  )
  return (
    <Card
      title="Domains"
      description="The first sign-in with an address of a verified domain creates an account."
      padded
    >
      {list.error && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      <ul className="mb-4 flex flex-col gap-3">
        {list.data?.data.map((domain) => (
          <Domain key={domain.id} domain={domain} tenantId={tenantId} />
        ))}
      </ul>
      <Form
        submit="Add domain"
        busy={add.isPending}
        error={add.error}
        names={['domain']}
        onSubmit={({ domain = '' }) => add.mutate(domain)}
      >
        <Input label="Domain" name="domain" required maxLength={253} placeholder="shop.example" />
      </Form>
    </Card>
  )
}

const Domain = ({ domain, tenantId }: { domain: TenantDomain; tenantId: string }) => {
  const params = { path: { id: domain.id }, query: { tenantId } }
  const verify = useChange(() => unwrap(api.POST('/api/tenant/domains/{id}/verify', { params })), {
    done: 'Domain verified',
    quiet: true,
  })
  const remove = useChange(() => unwrap(api.DELETE('/api/tenant/domains/{id}', { params })), {
    done: 'Domain removed',
    quiet: true,
  })
  return (
    <ListItem
      name={domain.domain}
      badge={<Verification verifiedAt={domain.verifiedAt} />}
      actions={
        !domain.verifiedAt && (
          <Button small busy={verify.isPending} onClick={() => verify.mutate()}>
            Verify {domain.domain}
          </Button>
        )
      }
      onRemove={() => remove.mutateAsync()}
      removal="No more accounts are created for its addresses. Accounts that exist stay."
    >
      {!domain.verifiedAt && (
        <CodeBlock
          label={`DNS record of ${domain.domain}`}
          text={`${domain.recordName} TXT ${domain.recordValue}`}
        />
      )}
      {verify.error && (
        <Notice tone="danger">The TXT record was not found. DNS changes may take an hour.</Notice>
      )}
    </ListItem>
  )
}

/** A provider or domain, with buttons that act on it. */
const ListItem = ({
  name,
  badge,
  actions,
  onRemove,
  removal,
  children,
}: {
  name: string
  badge?: ReactNode
  actions: ReactNode
  onRemove: () => Promise<unknown>
  /** What removing it does. */
  removal: string
  children: ReactNode
}) => (
  <li className="flex flex-col gap-3 rounded-lg border border-line p-4">
    <div className="flex flex-wrap items-center justify-between gap-2">
      <h3 className="flex items-center gap-2 font-semibold">
        {name}
        {badge}
      </h3>
      <div className="flex gap-2">
        {actions}
        <ConfirmButton small label="Remove" title={`Remove ${name}?`} confirm="Remove" onConfirm={onRemove}>
          {removal}
        </ConfirmButton>
      </div>
    </div>
    {children}
  </li>
)

const Policy = ({ tenantId }: { tenantId: string }) => {
  const query = { tenantId }
  const policy = useQuery({
    queryKey: ['sign-in-policy', tenantId],
    queryFn: () => unwrap(api.GET('/api/tenant/sign-in-policy', { params: { query } })),
  })
  const change = useChange(
    (oidcOnly: boolean) =>
      unwrap(api.PATCH('/api/tenant/sign-in-policy', { params: { query }, body: { oidcOnly } })),
    { done: 'Saved' },
  )
  return (
    <Card title="Require single sign-on" padded>
      <Switch
        label="Only with a provider"
        checked={policy.data?.oidcOnly ?? false}
        disabled={policy.data === undefined}
        busy={change.isPending}
        onChange={(oidcOnly) => change.mutate(oidcOnly)}
        hint="Members reach the projects of the company only after a sign-in with a provider. Owners still reach their own projects with their password, in case the provider is not available."
      />
    </Card>
  )
}
