import { AppError, type Endpoint } from '@waymark/contracts'
import createFinder, { type HTTPMethod } from 'find-my-way'
import type { Reply } from './reply.ts'
import type { HttpRequest } from './request.ts'

/** An operation and what answers it. */
export type Route = {
  readonly operation: Endpoint
  /** Finds out who asks, before the body is read. Throws what the request is refused with. */
  readonly allow?: (request: HttpRequest) => unknown
  /** Makes the reply for a caller that `allow` has found. What it throws becomes an error's answer. */
  readonly handler: (request: HttpRequest, caller: never) => Reply | Promise<Reply>
}

/** A route for anyone. */
export const route = (
  operation: Endpoint,
  handler: (request: HttpRequest) => Reply | Promise<Reply>,
): Route => ({
  operation,
  handler,
})

/** A route for callers that `allow` finds. */
export const guardedRoute = <Caller>(
  operation: Endpoint,
  allow: (request: HttpRequest) => Promise<Caller>,
  handler: (request: HttpRequest, caller: Caller) => Promise<Reply>,
): Route => ({ operation, allow, handler })

/** A route and the parameters of its path. */
export type Match = { route: Route; params: Record<string, string> }

// Node takes no longer request line and headers than that anyway.
const MAX_PARAMETER_LENGTH = 16 * 1024

/**
 * Makes what finds the route of a request. Capitals and a slash at the end make no difference. What it returns throws
 * AppError not_found, bad_request for a parameter that cannot be decoded, or method_not_allowed, then with `Allow` in the
 * answer's headers.
 */
export const createRouter = (routes: readonly Route[]): ((request: HttpRequest) => Match) => {
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
    // It would decode all of the path, so that proxies that guard a path see another one than it does.
    const found = finder.find(method as HTTPMethod, path.replaceAll('%', '%25'))
    // It takes an empty text for a parameter too.
    if (!found || Object.values(found.params).includes('')) return undefined
    return { route: found.store as Route, params: found.params as Record<string, string> }
  }

  return ({ method, path, replyHeaders }) => {
    // Nothing has a name with U+0000 in it: PostgreSQL refuses such a text, also one to compare with.
    if (path.includes('%00')) throw new AppError('not_found', 'Not found')
    const match = find(method === 'HEAD' ? 'GET' : method, path)
    if (match) return path.includes('%') ? { ...match, params: decoded(match.params) } : match
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

const decoded = (params: Match['params']): Match['params'] => {
  try {
    return Object.fromEntries(
      Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]),
    )
  } catch {
    throw new AppError('bad_request', 'The request is malformed')
  }
}
