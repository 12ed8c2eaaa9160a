import './styles.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/client.ts'
import { accountQuery, noteSignedIn } from './api/session.ts'
import { createConsoleRouter } from './router.tsx'
import { ReauthenticationDialog } from './shell/reauthentication-dialog.tsx'
import { Toasts } from './ui/toasts.tsx'

/** Opens the sign-in page when the session has ended, and the set-up of a second factor that a company requires. */
const onError = (error: Error): void => {
  if (!(error instanceof ApiError)) return
  if (error.code === 'second_factor_required') {
    void client.invalidateQueries({ queryKey: accountQuery.queryKey })
    void router.navigate({ to: '/second-factor' })
  }
  if (error.status !== 401 || router.state.location.pathname.startsWith('/sign-')) return
  noteSignedIn(false)
  client.removeQueries({ queryKey: accountQuery.queryKey })
  void router.navigate({ to: '/sign-in', search: { next: router.state.location.href } as never })
}

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Errors are final, except for limits of concurrency and unavailable stores.
      retry: (count, error) =>
        error instanceof ApiError && (error.status === 429 || error.status === 503)
          ? count < 5
          : count < 2 && (!(error instanceof ApiError) || error.status === 0),
    },
  },
})

const router = createConsoleRouter(client)

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}

const root = document.getElementById('root')
if (!root) throw new Error('The page has no element "root"')
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <ReauthenticationDialog />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
