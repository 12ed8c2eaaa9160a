import { AppError } from '@waymark/contracts/app-error'
import type { Endpoint } from '@waymark/contracts/http/operation'
import type { RequestHandler, Response, Router } from 'express'
import { eventLoopTurn } from './event-loop-turn.ts'
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
  readonly router: Router
}

/** A route for anyone. */
export const route = (
  operation: Endpoint,
  handler: (request: HttpRequest) => Reply | Promise<Reply>,
): Route => ({
  operation,
  handler,
})

type GuardedBody<Caller, Body> = {
  read: (request: HttpRequest, caller: Caller) => Promise<Body>
  /** Checks the caller again. Default: `allow` */
  allowAgain?: (request: HttpRequest, caller: Caller) => Promise<Caller>
}

/**
 * A route for callers that `allow` authenticates, before `read` reads the body. If the body was still arriving, they are
 * checked again after it: a client must not keep rights by sending slowly.
 */
export const guardedRoute = <Caller, Body = undefined>(
  operation: Endpoint,
  allow: (request: HttpRequest) => Promise<Caller>,
  handler: (request: HttpRequest, caller: Caller, body: Body) => Promise<Reply>,
  { read, allowAgain = allow }: Partial<GuardedBody<Caller, Body>> = {},
): Route => ({
  operation,
  allow,
  handler: async (request, caller: Caller) => {
    requireUsableVersion(request)
    // For this caller only, unless the reply says how long others may keep it.
    request.replyHeaders['Cache-Control'] = 'no-store'
    const turn = eventLoopTurn()
    // Without `read`, `Body` is undefined.
    const body = (await read?.(request, caller)) as Body
    return handler(request, turn.over ? await allowAgain(request, caller) : caller, body)
  },
})

/** How an app answers its requests. */
export type Answers = {
  /** Answers a request with a route. */
  answer: (route: Route, request: HttpRequest, response: Response) => void
  /** Sends a reply that no route makes. */
  send: (reply: Reply, request: HttpRequest, response: Response) => void
}

/** What the app keeps in `res.locals` for its routes. */
export type AppLocals = {
  request: HttpRequest
  /** Methods of the routes that have the path of the request. */
  allowed: string[]
  answers: Answers
}

export const localsOf = ({ locals }: Response): AppLocals => locals as AppLocals

/**
 * Adds routes to a router of Express, after the middleware that it has. Of two routes that have the path of a request, the
 * one with the fixed segment answers, whatever their order.
 * @returns the router
 */
export const mountRoutes = <R extends Pick<Router, 'route'>>(router: R, routes: readonly Route[]): R => {
  const byPath = Map.groupBy(routes, ({ operation }) => operation.path)
  const paths = [...byPath.keys()].toSorted(byFixedSegments)
  for (const path of paths) {
    const mounted = router.route(expressPathOf(path))
    const ofPath = byPath.get(path) ?? []
    for (const one of ofPath) mounted[one.operation.method](handlerOf(one))
    mounted.all(rememberMethods(ofPath.map(({ operation }) => operation.method.toUpperCase())))
  }
  return router
}

const handlerOf =
  (route: Route): RequestHandler =>
  (req, res) => {
    const { request, answers } = localsOf(res)
    request.params = req.params as HttpRequest['params']
    answers.answer(route, request, res)
  }

/** Runs for methods without a route, which other routes may have. */
const rememberMethods =
  (methods: string[]): RequestHandler =>
  (_req, res, next) => {
    localsOf(res).allowed.push(...methods)
    next()
  }

/** Answers what no route has taken. @throws AppError not_found, or method_not_allowed with an `Allow` header in the reply */
export const refuseUnknown: RequestHandler = (_req, res) => {
  const { request, allowed } = localsOf(res)
  if (allowed.length === 0) throw new AppError('not_found', 'Not found')
  const methods = [...new Set(allowed)].join(', ')
  request.replyHeaders.Allow = methods
  throw new AppError('method_not_allowed', `This path allows only ${methods}; got ${request.method}`)
}

/** `/items/{id}` and `/files/*` as Express writes them. */
const expressPathOf = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1').replace(/\*$/, '*rest')

/** 0 for a fixed segment, 1 for a parameter, 2 for any path. */
const rankOf = (segment: string): number => (segment === '*' ? 2 : segment.startsWith('{') ? 1 : 0)

const byFixedSegments = (a: string, b: string): number => {
  const [ranksOfA, ranksOfB] = [a.split('/').map(rankOf), b.split('/').map(rankOf)]
  const index = ranksOfA.findIndex((rank, at) => rank !== ranksOfB[at])
  return index === -1 ? 0 : (ranksOfA[index] ?? 0) - (ranksOfB[index] ?? 0)
}
