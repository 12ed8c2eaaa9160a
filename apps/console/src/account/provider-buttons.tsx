import { useQuery } from '@tanstack/react-query'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { useDebounced } from '../ui/debounce.ts'
import { Notice } from '../ui/states.tsx'

const DOMAIN = /@([^@\s]+\.[^@\s.]{2,})$/

/** The sign-in with the providers for an address, and with the one that a link names. */
export const ProviderButtons = ({
  email,
  providerId,
  next,
}: {
  email: string
  providerId: string | undefined
  next: string | undefined
}) => {
  const domain = useDebounced(DOMAIN.exec(email)?.[1]?.toLowerCase())
  const found = useQuery({
    queryKey: ['providers-of', domain],
    queryFn: () =>
      unwrap(api.GET('/api/auth/oidc/providers', { params: { query: { domain: domain ?? '' } } })),
    enabled: domain !== undefined,
    retry: false,
    staleTime: 60_000,
  })
  const start = useChange(
    (id: string) =>
      unwrap(
        api.POST('/api/auth/oidc/sign-in', { body: { providerId: id, ...(next !== undefined && { next }) } }),
      ),
    { quiet: true, onDone: ({ url }) => location.assign(url) },
  )
  const providers = [
    ...(found.data?.data ?? []),
    ...(providerId && !found.data?.data.some(({ id }) => id === providerId)
      ? [{ id: providerId, name: 'single sign-on' }]
      : []),
  ]
  if (providers.length === 0) return null
  return (
    <div className="mt-4 flex flex-col gap-2 border-t border-line pt-4">
      {start.error && <Notice tone="danger">{start.error.message}</Notice>}
      {providers.map(({ id, name }) => (
        <Button key={id} busy={start.isPending && start.variables === id} onClick={() => start.mutate(id)}>
          Continue with {name}
        </Button>
      ))}
    </div>
  )
}
