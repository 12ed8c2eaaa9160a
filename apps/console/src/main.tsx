import './styles.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/client.ts'
import { accountQuery, noteSessionEnded, noteSignedIn } from './api/session.ts'
import { createConsoleRouter } from './router.tsx'
import { createSharedRouter } from './shared/shared-router.tsx'
import { ReauthenticationDialog } from './shell/reauthentication-dialog.tsx'
import { Toasts } from './ui/toasts.tsx'

const isSignedOut = (error: Error): boolean => error instanceof ApiError && error.status === 401

/** Asks the user of the page to sign in again. Without one, the router opens the sign-in page. */
const onSessionEnd = (): void => {
  if (client.getQueryData(accountQuery.queryKey) !== undefined) noteSessionEnded()
}

/** Opens the set-up of a second factor that a company requires. */
const onMissingFactor = (error: Error): void => {
  if (!(error instanceof ApiError) || error.code !== 'second_factor_required') return
  void client.invalidateQueries({ queryKey: accountQuery.queryKey })
  void router.navigate({ to: '/second-factor' })
}

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      onMissingFactor(error)
      if (!isSignedOut(error)) return
      noteSignedIn(false)
      onSessionEnd()
    },
  }),
  // A wrong password is also answered with 401.
  mutationCache: new MutationCache({
    onError: (error) => {
      onMissingFactor(error)
      if (isSignedOut(error)) onSessionEnd()
    },
  }),
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

const router = location.pathname.startsWith('/shared/')
  ? (createSharedRouter() as unknown as ReturnType<typeof createConsoleRouter>)
  : createConsoleRouter(client)

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
