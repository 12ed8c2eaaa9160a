import { apiKeyOf } from '@waymark/service-kit'
import type { Request, Response } from 'express'
import type { Sender } from './intake.ts'

/** Who sends a request whose key was let pass. */
export const senderOf = (req: Request, res: Response): Sender => {
  const { projectId, kind, validationMode } = apiKeyOf(res)
  return {
    projectId,
    validationMode,
    speaksForOthers: kind === 'sec',
    ip: req.ip ?? null,
    userAgent: req.get('User-Agent') ?? null,
  }
}

/** Whether the client asks for the synchronous path. */
export const wantsSync = (req: Request): boolean =>
  req.query.sync === '1' || req.get('X-Service-Sync') === '1'

/** Has `then` called if the client is told to repeat its request. */
export const whenGivenUp =
  (res: Response) =>
  (then: () => void): void => {
    res.once('finish', () => {
      if (res.statusCode === 503) then()
    })
  }
