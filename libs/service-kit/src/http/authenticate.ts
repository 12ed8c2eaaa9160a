import { type ApiKeyScope, AppError } from '@waymark/contracts'
import { scopeAllows } from '@waymark/domain'
import type { ApiKey, ApiKeys } from '@waymark/project-config'
import type { Request, RequestHandler, Response } from 'express'
import { requireAllowedOrigin } from './cors.ts'

/** Finds the key in a request. */
export type ReadKey = (req: Request) => string | undefined

const keyHeader: ReadKey = (req) => req.get('X-API-Key')

/** For protocols whose clients may also send the key as `Authorization: Bearer`. */
export const keyHeaderOrBearer: ReadKey = (req) =>
  keyHeader(req) ?? /^Bearer +(\S+)$/i.exec(req.get('Authorization') ?? '')?.[1]

/**
 * Lets a request pass whose key, `X-API-Key` unless `readKey` says otherwise, is valid and holds `scope`. Answers 401 with one body for every
 * kind of bad key, 403 when the scope is missing or the key may not be used from the browser's origin; none of
 * them reads the request's body.
 */
export const requireApiKey =
  (apiKeys: ApiKeys, scope: ApiKeyScope, readKey: ReadKey = keyHeader): RequestHandler =>
  async (req, res, next) => {
    const key = await apiKeys.authenticate(readKey(req) ?? '')
    if (!key) throw new AppError('unauthorized', 'Missing or invalid API key')
    if (!scopeAllows(key.scopes, scope)) {
      throw new AppError('forbidden', 'The API key lacks the scope that this needs', { requiredScope: scope })
    }
    requireAllowedOrigin(key, req, res)
    res.locals.apiKey = key
    next()
  }

/** The key that `requireApiKey` let pass. */
export const apiKeyOf = (res: Response): ApiKey => res.locals.apiKey as ApiKey
