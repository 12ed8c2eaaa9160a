import { AppError } from '@waymark/contracts/app-error'
import { type EventStream, FLAG_STREAM_PATH, streamFlagChanges } from '@waymark/contracts/http/decide'
import {
  allowApiKey,
  type CorePlatform,
  closeAtStop,
  type HttpRequest,
  type KeyCall,
  keyOf,
  keyRoute,
  type LimitRequests,
  type Route,
} from '@waymark/service-kit'
import type { FlagStreams, Reader } from './flag-streams.ts'

type Deps = { apiKeys: CorePlatform['apiKeys']; limitRequests: LimitRequests; streams: FlagStreams }

/** The default of the protocol, in seconds. */
const INACTIVITY_DELAY_S = 120

/** Changes of a project's flags, as server-sent events. */
export const flagStreamRoute = ({ streams, apiKeys, limitRequests }: Deps): Route =>
  keyRoute(
    streamFlagChanges,
    { apiKeys, limitRequests, beacons: true },
    async ({ apiKey: { projectId }, request }) => {
      request.onEnd(streams.takePlace(projectId, () => request.message.socket.destroySoon()))
      const state = await streams.currentState(projectId)
      const reader = readerOf(apiKeys, request)
      const { 'last-event-id': lastEventId } = request.headers
      return {
        // Without buffering by nginx, also in ingresses.
        headers: { 'Cache-Control': 'no-store', Connection: 'close', 'X-Accel-Buffering': 'no' },
        type: 'text/event-stream; charset=utf-8',
        open: (response) => {
          const stream = streams.follow(projectId, response, {
            state,
            lastEventId: `${lastEventId ?? ''}`,
            reader,
          })
          request.onEnd(stream.leave)
          closeAtStop(request.message, stream.end)
        },
      }
    },
  )

/** Where a browser hears of changed flags. Undefined for secret keys, because URLs are logged. */
export const eventStreamsFor = ({
  apiKey,
  request,
}: Pick<KeyCall, 'apiKey' | 'request'>): EventStream[] | undefined =>
  apiKey.kind === 'pub'
    ? [
        {
          type: 'sse',
          endpoint: { requestUri: `${FLAG_STREAM_PATH}?apiKey=${encodeURIComponent(keyOf(request))}` },
          inactivityDelaySec: INACTIVITY_DELAY_S,
        },
      ]
    : undefined

/** The reader of a stream: a key, from an origin. It keeps nothing else of the request. */
const readerOf = (apiKeys: Deps['apiKeys'], request: HttpRequest): Reader => {
  const key = keyOf(request)
  const { origin } = request.headers
  return {
    id: `${key} ${origin}`,
    isAllowed: async () => {
      try {
        await allowApiKey(apiKeys, 'decide', { headers: { ...(origin !== undefined && { origin }) } }, key)
        return true
      } catch (error) {
        // A store that does not answer does not end the stream.
        return !(error instanceof AppError && (error.code === 'unauthorized' || error.code === 'forbidden'))
      }
    },
  }
}
