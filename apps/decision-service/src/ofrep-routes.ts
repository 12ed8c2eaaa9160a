import { hash } from 'node:crypto'
import { AppError } from '@waymark/contracts/app-error'
import {
  type Decided,
  type DecideRequest,
  type DecideResult,
  decideRequest,
  type EvaluatedFlag,
  evaluateFlag,
  evaluateFlags,
  MAX_DECIDE_BODY_BYTES,
} from '@waymark/contracts/http/decide'
import { type DecisionSet, isPublished } from '@waymark/domain/decision'
import {
  type CorePlatform,
  type HttpRequest,
  keyRoute,
  type LimitRequests,
  namesTag,
  queryOf,
  type Route,
} from '@waymark/service-kit'
import type { Decide } from './decide.ts'
import { requireShallow } from './decide-route.ts'
import { eventStreamsFor } from './flag-stream-route.ts'
import type { FlagStreams } from './flag-streams.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  limitRequests: LimitRequests
  decide: Decide
  streams: Pick<FlagStreams, 'catchUp'>
}

/**
 * The OpenFeature Remote Evaluation Protocol for the same decisions. A single evaluation counts as shown, with exposure and
 * frequency cap. A bulk evaluation is a prefetch and counts nothing.
 */
export const ofrepRoutes = ({ decide, streams, ...deps }: Deps): Route[] => {
  const options = { ...deps, maxBodyBytes: MAX_DECIDE_BODY_BYTES, openQuery: true, bodyError: asParseError }
  /** Another process may have notified the client of a change that this one does not know yet. */
  const catchUp = async (projectId: string, { url }: HttpRequest): Promise<void> => {
    const etag = queryOf(url)?.get('flagConfigEtag')
    if (etag) await streams.catchUp(projectId, etag)
  }
  return [
    keyRoute(evaluateFlag, options, async ({ apiKey, request, body }) => {
      const { projectId, environment } = apiKey
      const { key = '' } = request.params
      const evaluation = parseEvaluation(body.value, key)
      await catchUp(projectId, request)
      const which = published(key)
      const result = await decide({ ...evaluation, projectId, environment, which, shown: true })
      const [flag] = flagsOf(result)
      if (!flag) throw flagNotFound(key)
      return { body: flag }
    }),
    keyRoute(evaluateFlags, options, async ({ apiKey, request, body }) => {
      const { projectId, environment } = apiKey
      const evaluation = parseEvaluation(body.value)
      await catchUp(projectId, request)
      const which = allPublished
      const flags = flagsOf(await decide({ ...evaluation, projectId, environment, which, shown: false }))
      const eventStreams = eventStreamsFor({ apiKey, request })
      const answer = { flags, ...(eventStreams && { eventStreams }) }
      // As text, because its tag needs the text anyway.
      const text = JSON.stringify(answer)
      const etag = `"${hash('sha256', text, 'base64url')}"`
      const headers = { ETag: etag }
      return namesTag(request.headers['if-none-match'], etag)
        ? { status: 304, headers }
        : { headers, type: 'application/json; charset=utf-8', body: text }
    }),
  ]
}

const allPublished = ({ all }: DecisionSet) => all.filter(isPublished)

/** Like the bulk evaluation: drafts and archived decisions are not flags. */
const published = (key: string) => (set: DecisionSet) =>
  [set.get(key)?.decision].filter((decision) => decision !== undefined).filter(isPublished)

const flagNotFound = (key: string): AppError =>
  new AppError('not_found', 'The flag does not exist', {
    key,
    errorCode: 'FLAG_NOT_FOUND',
    errorDetails: 'The flag does not exist',
  })

/** The decisions as flags, without unknown ones. Without a value, the client uses its default. */
const flagsOf = ({ decisions, degraded }: DecideResult): EvaluatedFlag[] =>
  decisions.flatMap((decided) => (decided.reason === 'ERROR' ? [] : [flagOf(decided, degraded === true)]))

const flagOf = (
  { key, variant, value, reason, ruleId, decisionId }: Decided,
  degraded: boolean,
): EvaluatedFlag => ({
  key,
  ...(value !== null && { value }),
  ...(variant !== null && { variant }),
  reason,
  metadata: {
    ...(decisionId !== null && { decisionId }),
    ...(ruleId !== null && { ruleId }),
    ...(degraded && { degraded }),
  },
})

/** Errors of JSON have a code of the protocol as well. */
const asParseError = (error: unknown): unknown =>
  error instanceof AppError && error.code === 'bad_request' ? ofrepError('PARSE_ERROR', error.message) : error

/** The subject of an evaluation, and the context of its conditions. */
type OfrepContext = {
  visitorId: string | null
  userId: string | null
  context: Record<string, unknown>
}

/** The protocol's error codes for what is wrong with a request. */
type OfrepErrorCode = 'PARSE_ERROR' | 'INVALID_CONTEXT' | 'TARGETING_KEY_MISSING'

/** 400 in the format of the protocol; `key` is the flag's. */
const ofrepError = (errorCode: OfrepErrorCode, message: string, key?: string): AppError =>
  new AppError('bad_request', message, {
    ...(key !== undefined && { key }),
    errorCode,
    errorDetails: message,
  })

/**
 * Reads the body of an evaluation: `targetingKey` is the visitor, `userId` the user.
 * @throws AppError bad_request with the protocol's error code
 */
const parseEvaluation = (body: unknown, key?: string): OfrepContext => {
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
