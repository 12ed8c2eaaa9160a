import type { Endpoint } from '@waymark/contracts'
import type { RequestHandler } from 'express'
import type { DirectHandler } from './direct-route.ts'

/**
 * An operation and what answers it: handlers run in order, each may answer or throw. A busy one is answered by `direct`,
 * and its handlers get what that leaves to them.
 */
export type Route = { operation: Endpoint; handlers: RequestHandler[]; direct?: DirectHandler }
