import { randomUUID } from 'node:crypto'
import { AppError } from '@waymark/contracts/app-error'
import {
  type Decided,
  type DecideResult,
  decideRequest,
  MAX_DECIDE_BODY_BYTES,
} from '@waymark/contracts/http/decide'
import { type PostHogFlag, postHogDecide, postHogFlags } from '@waymark/contracts/http/posthog-protocol'
import { numberSource } from '@waymark/contracts/number-source'
import { isPublished } from '@waymark/domain/decision'
import { postHogKeyIn } from '@waymark/domain/posthog-protocol'
import {
  allowApiKey,
  allowKeyInBody,
  type CorePlatform,
  chargeProject,
  guardedRoute,
  type HttpRequest,
  type JsonBody,
  type KeyCall,
  keyInHeaders,
  type LimitRequests,
  queryOf,
  type Route,
  readJsonBody,
} from '@waymark/service-kit'
import type { Decide } from './decide.ts'
import { requireShallow } from './decide-route.ts'

type Deps = {
  apiKeys: CorePlatform['apiKeys']
  limitRequests: LimitRequests
  decide: Decide
  clock: () => number
}

/** A valid key, and the body if it was read to find the key. */
type Sender = { apiKey: KeyCall['apiKey']; body?: JsonBody }

/** The flags that PostHog's SDKs ask for. Like a bulk evaluation of OFREP, it counts nothing. */
export const postHogFlagsRoutes = (deps: Deps): Route[] => [
  flagsRoute(postHogFlags, deps, { detailedFrom: 2 }),
  flagsRoute(postHogDecide, deps, { detailedFrom: 4 }),
]

/** @param detailedFrom the version from which the answer has the details of each flag */
const flagsRoute = (
  operation: typeof postHogFlags,
  { apiKeys, limitRequests, decide, clock }: Deps,
  { detailedFrom }: { detailedFrom: number },
): Route =>
  guardedRoute<Sender, JsonBody>(
    operation,
    async (request) => {
      const inHeaders = keyInHeaders(request)
      const sender: Sender = inHeaders
        ? { apiKey: await allowApiKey(apiKeys, SCOPE, request, inHeaders) }
        : await allowKeyInBody(apiKeys, SCOPE, request, { read: readBody, keyIn: postHogKeyIn })
      chargeProject(sender.apiKey, 'general')
      await limitRequests(sender.apiKey, request)
      return sender
    },
    async (request, { apiKey: { projectId, environment } }, body) => {
      const { keys, ...person } = parseFlagsRequest(body.value)
      const result = await decide({
        ...person,
        projectId,
        environment,
        which: (set) => set.all.filter((one) => isPublished(one) && (keys === null || keys.has(one.key))),
        shown: false,
      })
      const detailed = Number(queryOf(request.url)?.get('v') ?? 0) >= detailedFrom
      const flags = flagsOf(result)
      return {
        body: {
          ...(detailed ? { flags } : withoutDetails(flags)),
          errorsWhileComputingFlags: result.degraded === true,
          requestId: randomUUID(),
          evaluatedAt: clock(),
        },
      }
    },
    {
      read: (request, { body }) => (body ? Promise.resolve(body) : readBody(request)),
      allowAgain: async (request, sender) => ({
        ...sender,
        apiKey: await allowApiKey(
          apiKeys,
          SCOPE,
          request,
          keyInHeaders(request) ?? postHogKeyIn(sender.body?.value) ?? '',
        ),
      }),
    },
  )

const SCOPE = 'decide'

const readBody = (request: HttpRequest): Promise<JsonBody> =>
  readJsonBody(request, MAX_DECIDE_BODY_BYTES, { anyType: true, unlabelled: true })

type FlagsRequest = {
  visitorId: string | null
  userId: string | null
  context: Record<string, unknown>
  /** Keys of the wanted flags; null for all. */
  keys: ReadonlySet<unknown> | null
}

/**
 * Reads the body of a request for flags. The SDKs do not say whether a `distinct_id` is of a visitor or a user, so it is
 * looked up as both.
 * @throws AppError bad_request
 */
const parseFlagsRequest = (body: unknown): FlagsRequest => {
  if (!isObject(body)) throw new AppError('bad_request', 'The body must be an object')
  const { person_properties, flag_keys_to_evaluate, flag_keys } = body
  const userId = idIn(body, 'distinct_id')
  if (userId === null) throw new AppError('bad_request', 'distinct_id is missing')
  const person = { visitorId: idIn(body, '$anon_distinct_id') ?? userId, userId }
  const problem = decideRequest.check(person)
  if (problem) throw new AppError('bad_request', `distinct_id ${problem.message}`)
  const context = isObject(person_properties) ? person_properties : {}
  requireShallow(context)
  const wanted = flag_keys_to_evaluate ?? flag_keys
  return { ...person, context, keys: Array.isArray(wanted) ? new Set<unknown>(wanted) : null }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Some clients send numbers, whose digits are all kept. */
const idIn = (body: Record<string, unknown>, name: string): string | null => {
  const value = body[name]
  if (typeof value === 'number') return numberSource(body, name) ?? `${value}`
  return typeof value === 'string' && value !== '' ? value : null
}

const flagsOf = ({ decisions }: DecideResult): Record<string, PostHogFlag> =>
  Object.fromEntries(decisions.map((decided) => [decided.key, flagOf(decided)]))

/** A decision whose values are true and false is on or off. Any other has a variant, with its value as payload. */
const flagOf = ({ key, variant, value, reason }: Decided): PostHogFlag => {
  const enabled = variant !== null && value !== false && reason !== 'DISABLED'
  const isSwitch = typeof value === 'boolean'
  const matched = reason === 'SPLIT' || reason === 'TARGETING_MATCH'
  return {
    key,
    enabled,
    ...(enabled && !isSwitch && { variant }),
    reason: { code: matched ? 'condition_match' : 'no_condition_match', description: reason },
    metadata: { ...(enabled && !isSwitch && value !== null && { payload: JSON.stringify(value) }) },
  }
}

/** The answer that older SDKs read. Flags that are off are false. */
const withoutDetails = (flags: Record<string, PostHogFlag>) => {
  const all = Object.values(flags)
  return {
    featureFlags: Object.fromEntries(all.map(({ key, variant, enabled }) => [key, variant ?? enabled])),
    featureFlagPayloads: Object.fromEntries(
      all.flatMap(({ key, metadata: { payload } }) => (payload === undefined ? [] : [[key, payload]])),
    ),
  }
}
