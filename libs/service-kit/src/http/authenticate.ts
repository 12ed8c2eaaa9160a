import type { IncomingMessage } from 'node:http'
import { type ApiKeyScope, AppError } from '@waymark/contracts'
import { scopeAllows } from '@waymark/domain'
import type { ApiKey, ApiKeys } from '@waymark/project-config'
import type { RequestHandler, Response } from 'express'
import { requireAllowedOrigin } from './cors.ts'

/** Finds the key in a request. */
export type ReadKey = (req: IncomingMessage) => string | undefined

const keyHeader: ReadKey = ({ headers }) => {
  const key = headers['x-api-key']
  return typeof key === 'string' ? key : undefined
}

/** For protocols whose clients may also send the key as `Authorization: Bearer`. */
export const keyHeaderOrBearer: ReadKey = (req) =>
  keyHeader(req) ?? /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1]

/**
 * The key of a request, `X-API-Key` unless `readKey` says otherwise, if it is valid and holds `scope`; null is what no
 * key may do. Throws 401 with one body for every kind of bad key, 403 when the scope is missing or the key may not be
 * used from the browser's origin; none of them reads the request's body.
 * @throws AppError unauthorized or forbidden
 */
export const allowApiKey = async (
  apiKeys: ApiKeys,
  scope: ApiKeyScope | null,
  req: IncomingMessage,
  readKey: ReadKey = keyHeader,
): Promise<ApiKey> => {
  const key = await apiKeys.authenticate(readKey(req) ?? '')
  if (!key) throw new AppError('unauthorized', 'Missing or invalid API key')
  if (scope === null) {
    throw new AppError('forbidden', 'Only an owner may do this, with a session', { requiredRole: 'owner' })
  }
  if (!scopeAllows(key.scopes, scope)) {
    throw new AppError('forbidden', 'The API key lacks the scope that this needs', { requiredScope: scope })
  }
  requireAllowedOrigin(key, req.headers.origin)
  return key
}

/** Lets a request pass whose key `allowApiKey` allows. */
export const requireApiKey =
  (apiKeys: ApiKeys, scope: ApiKeyScope, readKey: ReadKey = keyHeader): RequestHandler =>
  async (req, res, next) => {
    res.locals.apiKey = await allowApiKey(apiKeys, scope, req, readKey)
    next()
  }

/** The key that `requireApiKey` let pass. */
export const apiKeyOf = (res: Response): ApiKey => res.locals.apiKey as ApiKey
