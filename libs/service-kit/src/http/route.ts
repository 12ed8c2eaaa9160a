import type { RequestHandler } from 'express'

/** One endpoint: handlers run in order, each may answer or throw. Paths are Express's, with `:name` parameters. */
export type Route = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  path: string
  handlers: RequestHandler[]
}
