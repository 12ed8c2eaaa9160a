import { truncateIp } from '@waymark/domain'
import type { Request, Response } from 'express'

/** What is known of where a request comes from. `network` is what may be stored of the address. */
export type Client = {
  address: string
  network: string | null
  userAgent: string | null
  requestId: string | null
}

/** Reads it from a request; the address through as many proxies as are trusted. */
export const clientOf = (req: Request, res: Response): Client => ({
  address: req.ip ?? '',
  network: truncateIp(req.ip ?? ''),
  userAgent: req.get('User-Agent') ?? null,
  requestId: res.get('X-Request-Id') ?? null,
})
