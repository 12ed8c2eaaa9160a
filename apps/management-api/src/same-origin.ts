import { AppError } from '@waymark/contracts'
import type { Request } from 'express'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses what another site's page may have sent with a cookie that the browser added by itself: a request that
 * changes something needs an `Origin` with the host that it was sent to, and with HTTPS where that is used.
 * Proxies that are trusted say which host and scheme those were.
 * @throws AppError forbidden
 */
export const requireSameOrigin = (req: Request): void => {
  if (SAFE_METHODS.has(req.method) || isSameOrigin(req)) return
  throw new AppError('forbidden', 'The Origin header must be that of this server')
}

/** As `requireSameOrigin`, for a request that needs no cookie: one without an `Origin` comes from no page. */
export const refuseOtherOrigin = (req: Request): void => {
  if (req.get('Origin') !== undefined) requireSameOrigin(req)
}

const isSameOrigin = (req: Request): boolean => {
  const origin = URL.parse(req.get('Origin') ?? '')
  const own = URL.parse(`${req.protocol}://${req.host ?? ''}`)
  if (!origin || !own || !/^https?:$/.test(origin.protocol)) return false
  // A proxy that ends TLS and is not trusted leaves us with http; then the host has to do.
  return own.protocol === 'https:' ? origin.origin === own.origin : origin.host === own.host
}
