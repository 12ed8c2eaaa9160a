import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  parseSearchWith,
  stringifySearchWith,
} from '@tanstack/react-router'
import { PageError, PageLoading } from '../shell/page-states.tsx'

const root = createRootRoute({
  component: Outlet,
  validateSearch: (search): Record<string, string> => search as Record<string, string>,
})
const shared = createRoute({
  getParentRoute: () => root,
  path: '/$secret',
  component: lazyRouteComponent(() => import('./shared.tsx'), 'Shared'),
})

/** The one page that secret links open. */
export const createSharedRouter = () =>
  createRouter({
    routeTree: root.addChildren([shared]),
    basepath: '/shared',
    defaultPendingComponent: PageLoading,
    defaultErrorComponent: PageError,
    parseSearch: parseSearchWith((value) => value),
    stringifySearch: stringifySearchWith((value) => `${value}`),
  })
