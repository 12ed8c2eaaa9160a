import { AppError, type Endpoint } from '@waymark/contracts'
import createFinder, { type HTTPMethod } from 'find-my-way'
import type { Reply } from './reply.ts'
import { type HttpRequest, requireUsableVersion } from './request.ts'

/** An operation and its handler. */
export type Route = {
  readonly operation: Endpoint
  /** Authenticates the caller before the body is read. Throws when the request is refused. */
  readonly allow?: (request: HttpRequest) => unknown
  /** Returns the reply for the caller that `allow` returned. A thrown error becomes an error reply. */
  readonly handler: (request: HttpRequest, caller: never) => Reply | Promise<Reply>
}

/** Routes for requests to hosts that an app serves by itself, such as domains of projects. No other route answers there. */
export type HostRoutes = {
  /** Whether a request was sent to such a host. */
  readonly owns: (request: HttpRequest) => boolean | Promise<boolean>
  readonly routes: readonly Route[]
}

/** A route for anyone. */
export const route = (
  operation: Endpoint,
  handler: (request: HttpRequest) => Reply | Promise<Reply>,
): Route => ({
  operation,
  handler,
})

/** A route for callers that `allow` authenticates. */
export const guardedRoute = <Caller>(
  operation: Endpoint,
  allow: (request: HttpRequest) => Promise<Caller>,
  handler: (request: HttpRequest, caller: Caller) => Promise<Reply>,
): Route => ({
  operation,
  allow,
  handler: async (request, caller: Caller) => {
    requireUsableVersion(request)
    return handler(request, caller)
  },
})

/** A route and its path parameters. */
type Match = { route: Route; params: Record<string, string> }

// The limit of Node.js for the request line and headers.
const MAX_PARAMETER_LENGTH = 16 * 1024

/**
 * Returns a function that finds the route of a request. Paths are case-insensitive and may end with a slash. The function
 * throws AppError not_found, bad_request for a parameter that cannot be decoded, or method_not_allowed with an `Allow`
 * header in the reply. With `takesAnyPath` a parameter that cannot be decoded stays as it is in the path.
 */
export const createRouter = (
  routes: readonly Route[],
  { takesAnyPath = false } = {},
): ((request: HttpRequest) => Match) => {
  const finder = createFinder({
    caseSensitive: false,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_PARAMETER_LENGTH,
  })
  for (const route of routes) {
    const { method, path } = route.operation
    finder.on(method.toUpperCase() as HTTPMethod, path.replace(/\{(\w+)\}/g, ':$1'), () => {}, route)
  }
  const methods = [...new Set(routes.map(({ operation }) => operation.method.toUpperCase()))]

  const find = (method: string, path: string): Match | undefined => {
    if (!path.startsWith('/')) return undefined
    // Prevents the finder from decoding the path: a proxy that protects a path would see another path.
    const found = finder.find(method as HTTPMethod, path.replaceAll('%', '%25'))
    // The finder also matches empty parameters.
    if (!found || Object.values(found.params).includes('')) return undefined
    return { route: found.store as Route, params: found.params as Record<string, string> }
  }

  return ({ method, path, replyHeaders }) => {
    // PostgreSQL refuses U+0000 in any text, so no resource has it in its name.
    if (path.includes('%00') && !takesAnyPath) throw new AppError('not_found', 'Not found')
    const match = find(method === 'HEAD' ? 'GET' : method, path)
    if (match) return path.includes('%') ? { ...match, params: decoded(match.params, takesAnyPath) } : match
    const allowed = methods
      .flatMap((known) => find(known, path)?.route ?? [])
      .toSorted((a, b) => routes.indexOf(a) - routes.indexOf(b))
      .map(({ operation }) => operation.method.toUpperCase())
      .join(', ')
    if (allowed === '') throw new AppError('not_found', 'Not found')
    replyHeaders.Allow = allowed
    throw new AppError('method_not_allowed', `This path allows only ${allowed}; got ${method}`)
  }
}

const decoded = (params: Match['params'], keepsOthers: boolean): Match['params'] => {
  try {
    return Object.fromEntries(
      Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]),
    )
  } catch {
    if (keepsOthers) return params
    throw new AppError('bad_request', 'The request is malformed')
  }
}
