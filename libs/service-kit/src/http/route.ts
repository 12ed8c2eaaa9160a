import type { Endpoint } from '@waymark/contracts'
import type { RequestHandler } from 'express'

/** An operation and what answers it: handlers run in order, each may answer or throw. */
export type Route = { operation: Endpoint; handlers: RequestHandler[] }
