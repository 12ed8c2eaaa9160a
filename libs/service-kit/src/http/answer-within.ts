import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError, type Endpoint } from '@waymark/contracts'
import type { ErrorRequestHandler, RequestHandler } from 'express'

/** How long an answer may take, in ms: a little less than the 5 s that are promised. */
const DEADLINE_MS = 4_800
/** The same for what works on much at once: as long as a statement may take. */
const LONG_DEADLINE_MS = 35_000
const RETRY_AFTER_S = 30

/**
 * Has `giveUp` told when nobody has answered in time, such as while a server behind us keeps connections open and says
 * nothing. The time counts from when the client has sent all. What is under way goes on, so the outcome is unknown.
 */
export const startDeadline = (
  { takesLong }: Endpoint,
  req: IncomingMessage,
  res: ServerResponse,
  giveUp: (error: AppError) => void,
  deadlineMs = takesLong ? LONG_DEADLINE_MS : DEADLINE_MS,
): void => {
  const expire = (): void => {
    if (res.headersSent) return
    if (!req.complete) {
      timer.refresh()
      return
    }
    const late = new Error(`nothing within ${deadlineMs} ms`)
    const details = { retryAfter: RETRY_AFTER_S }
    giveUp(new AppError('store_unavailable', 'STORE_UNAVAILABLE', details, { cause: late }))
  }
  const timer = setTimeout(expire, deadlineMs)
  res.on('close', () => clearTimeout(timer))
}

/** Answers 503 when the handlers behind it have not answered in time. */
export const answerWithin =
  (endpoint: Endpoint, answerError: ErrorRequestHandler, deadlineMs?: number): RequestHandler =>
  (req, res, next) => {
    startDeadline(endpoint, req, res, (error) => void answerError(error, req, res, () => {}), deadlineMs)
    next()
  }
