import type { ServerResponse } from 'node:http'
import { type AppError, storeUnavailable } from '@waymark/contracts/app-error'
import type { Endpoint } from '@waymark/contracts/http/operation'
import { LONG_REQUEST_DEADLINE_MS, REQUEST_DEADLINE_MS } from '@waymark/contracts/request-budget'
import type { HttpRequest } from './request.ts'

/** Extends the deadline of a request by `extraMs`, for a large request. */
export const extendDeadline = ({ deadline }: HttpRequest, extraMs: number): void => {
  deadline.extraMs = extraMs
}

/** Extends the deadline of a request by up to `extraMs` while `work` is running. */
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

/** Answers with `lateError` if the deadline passes while `work` is running. */
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
 * Calls `onTimeout` when a request is not answered within the deadline, which counts from the end of its body. The
 * handler is not aborted, so the outcome of the request is unknown.
 */
export const startDeadline = (
  { takesLong }: Endpoint,
  { message, deadline, onEnd }: HttpRequest,
  response: ServerResponse,
  onTimeout: (error: AppError) => void,
  deadlineMs = takesLong ? LONG_REQUEST_DEADLINE_MS : REQUEST_DEADLINE_MS,
): void => {
  const expire = (): void => {
    if (response.headersSent) return
    const { extraMs, lateError = storeUnavailable } = deadline
    if (!message.complete) {
      deadline.timer?.refresh()
    } else if (extraMs > 0) {
      deadline.extraMs = 0
      deadline.timer = setTimeout(expire, extraMs)
    } else {
      onTimeout(lateError(new Error('No answer within the deadline')))
    }
  }
  deadline.timer = setTimeout(expire, deadlineMs)
  onEnd(() => clearTimeout(deadline.timer))
}
