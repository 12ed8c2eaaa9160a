import { AppError, type Endpoint } from '@waymark/contracts'
import type { ErrorRequestHandler, RequestHandler } from 'express'

/** How long an answer may take, in ms: a little less than the 5 s that are promised. */
const DEADLINE_MS = 4_800
/** The same for what works on much at once: as long as a statement may take. */
const LONG_DEADLINE_MS = 35_000
const RETRY_AFTER_S = 30

/**
 * Answers 503 when nobody has answered in time, such as while a server behind us keeps connections open and says
 * nothing. The time counts from when the client has sent all. What is under way goes on, so the outcome is unknown.
 */
export const answerWithin = (
  { takesLong }: Endpoint,
  answerError: ErrorRequestHandler,
  deadlineMs = takesLong ? LONG_DEADLINE_MS : DEADLINE_MS,
): RequestHandler => {
  return (req, res, next) => {
    const giveUp = (): void => {
      if (res.headersSent) return
      if (!req.complete) {
        timer.refresh()
        return
      }
      const late = new Error(`nothing within ${deadlineMs} ms`)
      const details = { retryAfter: RETRY_AFTER_S }
      const error = new AppError('store_unavailable', 'STORE_UNAVAILABLE', details, { cause: late })
      void answerError(error, req, res, () => {})
    }
    const timer = setTimeout(giveUp, deadlineMs)
    res.once('close', () => clearTimeout(timer))
    next()
  }
}
