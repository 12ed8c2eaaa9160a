import { AppError, type DecideRequest, decideRequest } from '@waymark/contracts'
import { requireShallow } from './decide-request.ts'

/** Whom a flag is evaluated for, and what conditions find below `context`. */
export type OfrepContext = {
  visitorId: string | null
  userId: string | null
  context: Record<string, unknown>
}

/** The protocol's error codes for what is wrong with a request. */
type OfrepErrorCode = 'PARSE_ERROR' | 'INVALID_CONTEXT' | 'TARGETING_KEY_MISSING'

/** 400 as the protocol wants it; `key` is that of the flag. */
export const ofrepError = (errorCode: OfrepErrorCode, message: string, key?: string): AppError =>
  new AppError('bad_request', message, {
    ...(key !== undefined && { key }),
    errorCode,
    errorDetails: message,
  })

/**
 * Reads the body of an evaluation: `targetingKey` is the visitor, `userId` the user.
 * @throws AppError bad_request with the protocol's error code
 */
export const parseEvaluation = (body: unknown, key?: string): OfrepContext => {
  const refuse = (code: OfrepErrorCode, message: string): never => {
    throw ofrepError(code, message, key)
  }
  if (!isObject(body)) return refuse('PARSE_ERROR', 'The body is not an object')
  const context = body.context ?? {}
  if (!isObject(context)) return refuse('INVALID_CONTEXT', 'context is not an object')
  try {
    requireShallow(context)
  } catch (error) {
    return refuse('INVALID_CONTEXT', (error as Error).message)
  }
  const { targetingKey, userId } = context
  const person = { visitorId: orNull(targetingKey), userId: orNull(userId) }
  if (person.visitorId === null && person.userId === null)
    return refuse('TARGETING_KEY_MISSING', 'context.targetingKey is missing')
  if (!isPerson(person)) return refuse('INVALID_CONTEXT', 'targetingKey or userId is not a usable id')
  return { visitorId: person.visitorId ?? null, userId: person.userId ?? null, context }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const orNull = (id: unknown): unknown => (id === undefined || id === '' ? null : id)

const isPerson = (person: object): person is Pick<DecideRequest, 'visitorId' | 'userId'> =>
  decideRequest.fits(person)
