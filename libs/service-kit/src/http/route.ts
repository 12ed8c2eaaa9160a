import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint } from '@waymark/contracts'
import type { RequestHandler } from 'express'

/** A request that is answered without Express, and what is needed for that. */
export type Exchange = {
  req: IncomingMessage
  res: ServerResponse
  /** What stands for the parameter that the route's path ends with; empty when it has none. */
  parameter: string
  /** The client's address, with regard to trusted proxies; empty when its connection is gone. */
  ip: string
  /** Headers of the answer, names and values in turn. Those of an error too. */
  headers: string[]
}

/**
 * Answers a request without Express, whose router, security headers for pages and response methods cost more than what a
 * busy route does itself. `false` leaves it to the route's handlers; only before the body is read. What is thrown
 * becomes the answer that it becomes everywhere.
 */
export type DirectHandler = (exchange: Exchange) => boolean | Promise<boolean>

/**
 * An operation and what answers it: handlers run in order, each may answer or throw. A busy one is answered by `direct`,
 * and its handlers get what that leaves to them.
 */
export type Route = { operation: Endpoint; handlers: RequestHandler[]; direct?: DirectHandler }
