import { createHash } from 'node:crypto'
import {
  AppError,
  type Decided,
  type DecideResult,
  type EvaluatedFlag,
  evaluateFlag,
  evaluateFlags,
  MAX_DECIDE_BODY_BYTES,
} from '@waymark/contracts'
import type { DecisionSet } from '@waymark/domain'
import {
  apiKeyOf,
  bodyOf,
  jsonBody,
  keyHeaderOrBearer,
  keyRoute,
  type LimitRequests,
  type Platform,
  type Route,
} from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import type { Decide } from './decide.ts'
import { ofrepError, parseEvaluation } from './ofrep-request.ts'

type Deps = { apiKeys: Platform['apiKeys']; limitRequests: LimitRequests; decide: Decide }

/**
 * The OpenFeature Remote Evaluation Protocol over the same decisions. One flag is evaluated because somebody is about
 * to be shown it, so exposure and frequency cap count; all flags are fetched in advance, so neither does.
 */
export const ofrepRoutes = ({ decide, ...deps }: Deps): Route[] => {
  const options = { ...deps, readKey: keyHeaderOrBearer, readBody }
  return [
    keyRoute(evaluateFlag, options, async (req, res) => {
      const key = String(req.params.key)
      const request = parseEvaluation(bodyOf(req).value, key)
      const { projectId } = apiKeyOf(res)
      const result = await decide({ ...request, projectId, which: [key], shown: true })
      const [flag] = flagsOf(result)
      if (!flag) throw flagNotFound(key)
      res.json(flag)
    }),
    keyRoute(evaluateFlags, options, async (req, res) => {
      const request = parseEvaluation(bodyOf(req).value)
      const { projectId } = apiKeyOf(res)
      const flags = flagsOf(await decide({ ...request, projectId, which: allPublished, shown: false }))
      const etag = `"${createHash('sha256').update(JSON.stringify(flags)).digest('base64url')}"`
      res.set('ETag', etag)
      if (isKnown(req.get('If-None-Match'), etag)) res.status(304).end()
      else res.json({ flags })
    }),
  ]
}

const allPublished = ({ all }: DecisionSet) =>
  all.filter(({ status }) => status === 'active' || status === 'paused')

const flagNotFound = (key: string): AppError =>
  new AppError('not_found', 'There is no such flag', {
    key,
    errorCode: 'FLAG_NOT_FOUND',
    errorDetails: 'There is no such flag',
  })

/** The decisions as flags, unknown ones left out. A value of null leaves it to the code's default. */
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

const isKnown = (header: string | undefined, etag: string): boolean =>
  (header ?? '')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*')

/** What is wrong with the JSON itself has a code of the protocol as well. */
const asParseError = (error: unknown): unknown =>
  error instanceof AppError && error.code === 'bad_request' ? ofrepError('PARSE_ERROR', error.message) : error

const readBody: RequestHandler[] = jsonBody(MAX_DECIDE_BODY_BYTES).map((read): RequestHandler => {
  return async (req, res, next) => {
    try {
      await read(req, res, next)
    } catch (error) {
      throw asParseError(error)
    }
  }
})
