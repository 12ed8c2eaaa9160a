import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiKeyScope, Operation } from '@waymark/contracts'
import type { ApiKey, ApiKeys } from '@waymark/project-config'
import { allowApiKey } from './authenticate.ts'
import { answerJson } from './direct-route.ts'
import { type JsonBody, type JsonBodyOptions, readJsonBody } from './json-body.ts'
import type { LimitRequests } from './rate-limit.ts'
import type { Route } from './route.ts'

type KeyOperation = Operation<unknown, unknown, { by: 'key'; scope: ApiKeyScope }>
type DirectKeyRouteOptions = JsonBodyOptions & {
  apiKeys: ApiKeys
  limitRequests: LimitRequests
  maxBodyBytes: number
}

/** A request with a valid key, within its limit, and its body. */
export type KeyCall = {
  apiKey: ApiKey
  ip: string
  req: IncomingMessage
  res: ServerResponse
  body: JsonBody
}
/** The answer: a JSON text, and headers beside those of every answer, names and values in turn. */
export type KeyAnswer = { status: number; json: string; headers?: string[] }

/** Like `keyRoute`, in the same order, for busy operations: without Express. */
export const directKeyRoute = (
  operation: KeyOperation,
  { apiKeys, limitRequests, maxBodyBytes, ...options }: DirectKeyRouteOptions,
  answer: (call: KeyCall) => Promise<KeyAnswer>,
): Route => ({
  operation,
  handlers: [],
  direct: async (exchange) => {
    const { req, res, ip } = exchange
    const apiKey = await allowApiKey(apiKeys, operation.access.scope, req)
    await limitRequests(apiKey, ip, exchange.headers)
    // In a constant of this function the body, and all that was parsed of it, would outlive the wait for Kafka.
    const answered = readJsonBody(req, maxBodyBytes, options).then((body) =>
      answer({ apiKey, ip, req, res, body }),
    )
    const { status, json, headers = [] } = await answered
    exchange.headers.push(...headers)
    answerJson(exchange, status, json)
    return true
  },
})
