import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { ErrorState } from '../ui/states.tsx'

/** The providers that are linked to the account, and those that can be. */
export const Identities = () => {
  const next = useRouterState().location.pathname
  const list = useQuery({
    queryKey: ['identities'],
    queryFn: () => unwrap(api.GET('/api/auth/identities')),
  })
  const link = useChange(
    (providerId: string) => unwrap(api.POST('/api/auth/identities', { body: { providerId, next } })),
    { onDone: ({ url }) => location.assign(url) },
  )
  const unlink = useChange(
    (id: string) => unwrap(api.DELETE('/api/auth/identities/{id}', { params: { path: { id } } })),
    { done: 'Unlinked', quiet: true },
  )
  const { data = [], linkable = [] } = list.data ?? {}
  return (
    <Card
      title="Single sign-on"
      description="Providers with which you sign in to the projects of a company."
      className="lg:col-span-2"
      padded
    >
      {list.error && <ErrorState error={list.error} retry={() => void list.refetch()} />}
      {list.data && data.length + linkable.length === 0 && (
        <p className="text-muted">None of your companies has a provider.</p>
      )}
      <ul className="flex flex-col gap-3">
        {data.map(({ id, providerName, tenantName, email, lastUsedAt }) => (
          <li key={id} className="flex flex-wrap items-center justify-between gap-2">
            <span>
              <span className="font-medium">{providerName}</span> of {tenantName}, {email ?? 'no address'},
              last used <Time at={lastUsedAt} as="ago" />
            </span>
            <ConfirmButton
              small
              label="Unlink"
              title={`Unlink ${providerName}?`}
              confirm="Unlink"
              onConfirm={() => unlink.mutateAsync(id)}
            >
              Its sessions and access tokens end. If you have no password, set one by email first.
            </ConfirmButton>
          </li>
        ))}
        {linkable.map(({ id, name, tenantName }) => (
          <li key={id} className="flex flex-wrap items-center justify-between gap-2">
            <span>
              <span className="font-medium">{name}</span> of {tenantName}
            </span>
            <Button small busy={link.isPending && link.variables === id} onClick={() => link.mutate(id)}>
              Link {name}
            </Button>
          </li>
        ))}
      </ul>
    </Card>
  )
}
