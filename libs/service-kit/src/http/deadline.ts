import type { ServerResponse } from 'node:http'
import { type AppError, type Endpoint, storeUnavailable } from '@waymark/contracts'
import type { HttpRequest } from './request.ts'

/** How long an answer may take, in ms: less than the 5 s that are promised, as a busy process is late. */
const DEADLINE_MS = 4_600
/** The same for what works on much at once: as long as a statement may take. */
const LONG_DEADLINE_MS = 35_000

/** Lets the answer take `extraMs` longer than its operation's deadline, for a request that brings much work. */
export const extendDeadline = ({ deadline }: HttpRequest, extraMs: number): void => {
  deadline.extraMs = extraMs
}

/** Lets the answer take up to `extraMs` longer than its operation's deadline while `work` is under way. */
export const extendDeadlineDuring = async <T>(
  request: HttpRequest,
  extraMs: number,
  work: Promise<T>,
): Promise<T> => {
  extendDeadline(request, extraMs)
  try {
    return await work
  } finally {
    extendDeadline(request, 0)
  }
}

/** Makes an answer that comes too late while `work` is under way say what `lateError` makes of it. */
export const answerLateWith = async <T>(
  { deadline }: HttpRequest,
  lateError: (cause: Error) => AppError,
  work: Promise<T>,
): Promise<T> => {
  deadline.lateError = lateError
  try {
    return await work
  } finally {
    deadline.lateError = undefined
  }
}

/**
 * Calls `giveUp` when nothing has been answered in time, such as while a server behind us keeps connections open and says
 * nothing. The time counts from when the client has sent all. What is under way goes on, so the outcome is unknown.
 */
export const startDeadline = (
  { takesLong }: Endpoint,
  { message, deadline, onEnd }: HttpRequest,
  response: ServerResponse,
  giveUp: (error: AppError) => void,
  deadlineMs = takesLong ? LONG_DEADLINE_MS : DEADLINE_MS,
): void => {
  const expire = (): void => {
    if (response.headersSent) return
    const { extraMs, lateError = storeUnavailable } = deadline
    if (!message.complete) {
      timer.refresh()
    } else if (extraMs > 0) {
      deadline.extraMs = 0
      timer = setTimeout(expire, extraMs)
    } else {
      giveUp(lateError(new Error('No answer within the deadline')))
    }
  }
  let timer = setTimeout(expire, deadlineMs)
  onEnd(() => clearTimeout(timer))
}
