import { AppError } from '@waymark/contracts/app-error'
import type { Operation } from '@waymark/contracts/http/operation'
import {
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
import { postHogKeyIn } from '@waymark/domain/posthog-protocol'
import type { SegmentCall } from '@waymark/domain/segment-protocol'
import { protocolOf, type Route, requestHostOf, route } from '@waymark/service-kit'
import {
  allowUnlessUnknown,
  keyInAnyHeader,
  keyInQuery,
  type MessageDeps,
  messageRoute,
} from '../client-messages/message-route.ts'
import { isPostHogBatch, postHogMessages } from '../posthog-protocol/posthog-messages.ts'
import { segmentMessages } from './segment-messages.ts'

type Deps = MessageDeps & { clock: () => number }

type CallSpec = { operation: Operation; short?: string; call?: SegmentCall; isImport?: boolean }

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
  { operation: segmentImport, isImport: true },
]

/** The routes of Segment's protocol. */
export const segmentProtocolRoutes = (deps: Deps): Route[] => [
  ...CALLS.flatMap((spec) => {
    const { operation, short } = spec
    const paths = [operation.path, operation.path.replace('/v1', ''), ...(short ? [`/v1/${short}`] : [])]
    return paths.map((path) => segmentRoute({ ...operation, path }, deps, spec))
  }),
  segmentRoute({ ...segmentBatch, path: BEACON_PATH }, deps, {}),
  route({ method: 'post', path: METRICS_PATH, forPrograms: true }, () => ({ body: SUCCESS })),
  settingsRoute(deps),
  sourceConfigRoute(deps),
]

/** Where the browser SDK reports how it does. Nothing of it is kept. */
const METRICS_PATH = '/v1/m'
const SUCCESS = { success: true }

/** `/batch` is of PostHog's protocol, too: its bodies have an `api_key`. */
const segmentRoute = (
  operation: Operation,
  { clock, ...deps }: Deps,
  { call, isImport = false }: Pick<CallSpec, 'call' | 'isImport'>,
): Route =>
  messageRoute(operation, deps, {
    messagesOf: (body) =>
      call === undefined && isPostHogBatch(body.value)
        ? postHogMessages(body, clock())
        : segmentMessages({ body: body.value, call }, { bodyBytes: body.bytes, isImport, now: clock() }),
    keyIn: (body) => segmentKeyIn(body) ?? postHogKeyIn(body),
    success: SUCCESS,
  })

/** The key in a body. Some clients name it only in the messages of a batch. */
const segmentKeyIn = (body: unknown): string | undefined => {
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
