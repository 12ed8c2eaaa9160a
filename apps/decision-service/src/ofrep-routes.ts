import { createHash } from 'node:crypto'
import {
  AppError,
  type Decided,
  type DecideResult,
  type Decision,
  type EvaluatedFlag,
  evaluateFlag,
  evaluateFlags,
  MAX_DECIDE_BODY_BYTES,
} from '@waymark/contracts'
import type { DecisionSet } from '@waymark/domain'
import { type CorePlatform, keyRoute, type LimitRequests, type Route } from '@waymark/service-kit'
import type { Decide } from './decide.ts'
import { ofrepError, parseEvaluation } from './ofrep-request.ts'

type Deps = { apiKeys: CorePlatform['apiKeys']; limitRequests: LimitRequests; decide: Decide }

/**
 * The OpenFeature Remote Evaluation Protocol over the same decisions. One flag is evaluated because somebody is about
 * to be shown it, so exposure and frequency cap count; all flags are fetched in advance, so neither does.
 */
export const ofrepRoutes = ({ decide, ...deps }: Deps): Route[] => {
  const options = { ...deps, maxBodyBytes: MAX_DECIDE_BODY_BYTES, openQuery: true, bodyError: asParseError }
  return [
    keyRoute(evaluateFlag, options, async ({ apiKey: { projectId }, request, body }) => {
      const { key = '' } = request.params
      const evaluation = parseEvaluation(body.value, key)
      const result = await decide({ ...evaluation, projectId, which: published(key), shown: true })
      const [flag] = flagsOf(result)
      if (!flag) throw flagNotFound(key)
      return { body: flag }
    }),
    keyRoute(evaluateFlags, options, async ({ apiKey: { projectId }, request, body }) => {
      const evaluation = parseEvaluation(body.value)
      const flags = flagsOf(await decide({ ...evaluation, projectId, which: allPublished, shown: false }))
      const etag = `"${createHash('sha256').update(JSON.stringify(flags)).digest('base64url')}"`
      const headers = { ETag: etag }
      return isKnown(request.headers['if-none-match'], etag)
        ? { status: 304, headers }
        : { headers, body: { flags } }
    }),
  ]
}

const isPublished = ({ status }: Decision): boolean => status === 'active' || status === 'paused'
const allPublished = ({ all }: DecisionSet) => all.filter(isPublished)

/** As in bulk: a draft, and what is archived, is no flag yet or any more. */
const published = (key: string) => (set: DecisionSet) =>
  [set.get(key)?.decision].filter((decision) => decision !== undefined).filter(isPublished)

const flagNotFound = (key: string): AppError =>
  new AppError('not_found', 'The flag does not exist', {
    key,
    errorCode: 'FLAG_NOT_FOUND',
    errorDetails: 'The flag does not exist',
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
