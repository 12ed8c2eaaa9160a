import { AppError } from '@waymark/contracts/app-error'
import type { Operation } from '@waymark/contracts/http/operation'
import {
  MAX_SEGMENT_BODY_BYTES,
  rudderSourceConfig,
  segmentAlias,
  segmentBatch,
  segmentGroup,
  segmentIdentify,
  segmentImport,
  segmentPage,
  segmentScreen,
  segmentSettings,
  segmentTrack,
} from '@waymark/contracts/http/segment-protocol'
import type { SegmentCall } from '@waymark/domain/segment-protocol'
import {
  allowApiKey,
  chargeProject,
  extendDeadline,
  guardedRoute,
  type HttpRequest,
  type JsonBody,
  type KeyCall,
  keyInHeaders,
  type LimitRequests,
  type Platform,
  protocolOf,
  queryOf,
  type Route,
  readJsonBody,
  requestHostOf,
  route,
} from '@waymark/service-kit'
import type { createLimits } from '../limits.ts'
import { intakeOptions, senderOf } from '../track-routes.ts'
import type { createCollectMessages } from './collect-messages.ts'

type Deps = {
  apiKeys: Platform['apiKeys']
  limitRequests: LimitRequests
  limitPeople: ReturnType<typeof createLimits>['people']
  collectMessages: ReturnType<typeof createCollectMessages>
}

/** How much each change of a person extends the deadline, in ms. */
const MS_PER_PERSON_CHANGE = 5
/** How much they extend it at most, in ms: the SDKs end a request after 10 s, and repeat it. */
const MAX_PERSON_CHANGES_MS = 4_500

/** How much changes of people extend the deadline of a request, in ms. */
export const personChangesMs = (count: number): number =>
  Math.min(count * MS_PER_PERSON_CHANGE, MAX_PERSON_CHANGES_MS)

type CallSpec = { operation: Operation; short?: string; call?: SegmentCall; backfill?: boolean }

/** Where RudderStack's browser SDK sends with `navigator.sendBeacon`. */
const BEACON_PATH = '/beacon/v1/batch'

const CALLS: readonly CallSpec[] = [
  { operation: segmentBatch, short: 'b' },
  { operation: segmentTrack, call: 'track', short: 't' },
  { operation: segmentIdentify, call: 'identify', short: 'i' },
  { operation: segmentPage, call: 'page', short: 'p' },
  { operation: segmentScreen, call: 'screen', short: 's' },
  { operation: segmentGroup, call: 'group', short: 'g' },
  { operation: segmentAlias, call: 'alias', short: 'a' },
  { operation: segmentImport, backfill: true },
]

/** The routes of Segment's protocol. */
export const segmentProtocolRoutes = (deps: Deps): Route[] => [
  ...CALLS.flatMap(({ operation, call, short, backfill = false }) => {
    const paths = [operation.path, operation.path.replace('/v1', ''), ...(short ? [`/v1/${short}`] : [])]
    return paths.map((path) => messageRoute({ ...operation, path }, { ...deps, call, backfill }))
  }),
  messageRoute({ ...segmentBatch, path: BEACON_PATH }, { ...deps, call: undefined, backfill: false }),
  route({ method: 'post', path: METRICS_PATH, forPrograms: true }, () => ({ body: SUCCESS })),
  settingsRoute(deps),
  sourceConfigRoute(deps),
]

/** Where the browser SDK reports how it does. Nothing of it is kept. */
const METRICS_PATH = '/v1/m'
const SUCCESS = { success: true }

/** 200 when the messages are durable. */
const messageRoute = (
  operation: Operation,
  {
    apiKeys,
    limitRequests,
    limitPeople,
    collectMessages,
    call,
    backfill,
  }: Deps & { call: SegmentCall | undefined; backfill: boolean },
): Route =>
  guardedRoute<Sender, JsonBody>(
    operation,
    async (request) => {
      const sender = await allowSender(apiKeys, request)
      chargeProject(sender.apiKey, 'general')
      await limitRequests(sender.apiKey, request)
      return sender
    },
    async (request, sender, body) => {
      const from = {
        ...senderOf(sender.apiKey, request),
        keyKind: sender.apiKey.kind,
        isBrowser: request.headers.origin !== undefined,
      }
      await collectMessages({ body: body.value, call }, from, {
        ...intakeOptions(request, body),
        backfill,
        limitPeople: (changes) => limitPeople(sender.apiKey, request, changes),
        onPersonChanges: (count) => extendDeadline(request, personChangesMs(count)),
      })
      return { body: SUCCESS }
    },
    {
      read: (request, { body }) => (body ? Promise.resolve(body) : readBody(request)),
      allowAgain: async (request, sender) => ({
        ...sender,
        apiKey: await allowApiKey(apiKeys, SCOPE, request, keyOf(request, sender)),
      }),
    },
  )

/** A valid key, and the body if it was read to find the key. */
type ApiKey = KeyCall['apiKey']
type Sender = { apiKey: ApiKey; body?: JsonBody }

const SCOPE = 'events:write'
const KEY_NAME = 'writeKey'

/**
 * The key of a request: the user name of HTTP Basic, the headers of all other endpoints, or `writeKey` in the query, where
 * only keys of kind `pub` are allowed, or the body.
 * @throws AppError unauthorized, forbidden, or payload_too_large for a body that is read for its key
 */
const allowSender = async (apiKeys: Platform['apiKeys'], request: HttpRequest): Promise<Sender> => {
  const inHeaders = keyInAnyHeader(request)
  if (inHeaders) return { apiKey: await allowApiKey(apiKeys, SCOPE, request, inHeaders) }
  const inQuery = keyInQuery(request)
  if (inQuery) return { apiKey: requirePublic(await allowApiKey(apiKeys, SCOPE, request, inQuery)) }
  const body = await readBody(request).catch((error: unknown) => {
    // A client without a valid key only learns that the body is too large, and no other problem of it.
    if (error instanceof AppError && error.code === 'payload_too_large') throw error
    return undefined
  })
  const apiKey = await allowApiKey(apiKeys, SCOPE, request, keyIn(body?.value) ?? '')
  return { apiKey, ...(body && { body }) }
}

const keyInAnyHeader = (request: HttpRequest): string | undefined =>
  basicUser(request) ?? keyInHeaders(request)

/** The key that a sender was allowed with. */
const keyOf = (request: HttpRequest, { body }: Sender): string =>
  keyInAnyHeader(request) ?? keyInQuery(request) ?? keyIn(body?.value) ?? ''

const keyInQuery = ({ url }: HttpRequest): string | undefined => queryOf(url)?.get(KEY_NAME) ?? undefined

/** Refuses a secret key in a URL, which proxies and browsers log. @throws AppError forbidden */
const requirePublic = (apiKey: ApiKey): ApiKey => {
  if (apiKey.kind === 'pub') return apiKey
  throw new AppError(
    'forbidden',
    'A key of kind sec is not taken in a URL, which proxies log: send it as the user name of HTTP Basic, as X-API-Key ' +
      'or as Authorization: Bearer, and rotate this one',
  )
}

const readBody = (request: HttpRequest): Promise<JsonBody> =>
  readJsonBody(request, MAX_SEGMENT_BODY_BYTES, { numbers: 'any', anyType: true })

const BASIC = /^Basic +([\w+/=-]+)$/i

const basicUser = ({ headers }: HttpRequest): string | undefined => {
  const encoded = BASIC.exec(headers.authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const [user] = Buffer.from(encoded, 'base64').toString('latin1').split(':', 1)
  return user === '' ? undefined : user
}

/** The key in a body. Some clients name it only in the messages of a batch. */
const keyIn = (body: unknown): string | undefined => {
  const { batch } = (body ?? {}) as { batch?: unknown }
  return writeKeyOf(body) ?? (Array.isArray(batch) ? writeKeyOf(batch[0]) : undefined)
}

const writeKeyOf = (value: unknown): string | undefined => {
  const { writeKey } = (value ?? {}) as { writeKey?: unknown }
  return typeof writeKey === 'string' ? writeKey : undefined
}

/** What the browser SDK asks its CDN for. It then sends to the host that answered, at `/v1`. */
const settingsRoute = ({ apiKeys }: Pick<Deps, 'apiKeys'>): Route =>
  route(segmentSettings, async (request) => {
    const { writeKey = '' } = request.params
    await allowUnlessUnknown(apiKeys, request, writeKey, { inUrl: true })
    const host = requestHostOf(request)
    if (host === undefined) throw new AppError('bad_request', 'The Host header is missing')
    return {
      headers: { 'Cache-Control': 'private, max-age=120' },
      body: {
        integrations: {
          'Segment.io': { apiKey: writeKey, apiHost: `${host}/v1`, protocol: protocolOf(request) },
        },
        plan: {
          track: { __default: { enabled: true } },
          identify: { __default: { enabled: true } },
          group: { __default: { enabled: true } },
        },
        // The SDK reports how it does to Segment otherwise.
        metrics: { sampleRate: 0 },
      },
    }
  })

/** What RudderStack's SDKs for browsers and apps ask their control plane for: a source without destinations. */
const sourceConfigRoute = ({ apiKeys }: Pick<Deps, 'apiKeys'>): Route =>
  route(rudderSourceConfig, async (request) => {
    const inHeaders = keyInAnyHeader(request)
    const writeKey = inHeaders ?? keyInQuery(request) ?? ''
    await allowUnlessUnknown(apiKeys, request, writeKey, { inUrl: inHeaders === undefined })
    return {
      headers: { 'Cache-Control': 'private, max-age=120' },
      body: {
        source: {
          id: 'waymark',
          name: 'Waymark',
          writeKey,
          enabled: true,
          // The SDK reports errors and metrics of its own to RudderStack otherwise.
          config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
          destinations: [],
        },
      },
    }
  })

/** Without its settings, the SDK of a page sends nothing at all: while no store knows the key, they are answered. */
const allowUnlessUnknown = async (
  apiKeys: Platform['apiKeys'],
  request: HttpRequest,
  writeKey: string,
  { inUrl }: { inUrl: boolean },
): Promise<void> => {
  try {
    const apiKey = await allowApiKey(apiKeys, SCOPE, request, writeKey)
    if (inUrl) requirePublic(apiKey)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'store_unavailable') throw error
  }
}
