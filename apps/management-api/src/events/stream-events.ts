import { streamEvents } from '@waymark/contracts/http/events'
import { closeAtStop, type Route } from '@waymark/service-kit'
import { limitConcurrency } from '../http/limit-concurrency.ts'
import { CHECK_MS, stillAllowed } from '../http/while-allowed.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { createLiveEvents, type LiveReader } from './live-events.ts'

/**
 * Limits the connections and the polls, which only readers with the same query share. Clients connect again when one is
 * ended for another tenant.
 */
const STREAM_LIMITS = { perProject: 30, perTenant: 60, total: 200, what: 'event streams', reclaims: true }
/** Interval of keep-alive comments, in ms: proxies close idle connections. */
const HEARTBEAT_MS = 15_000
/** The delay before a browser reconnects, in ms. */
const RETRY_MS = 2_000

/** A project's events as they are stored, as server-sent events. */
export const streamEventsRoute = ({
  projectRoute,
  eventStore,
  log,
  steadyClock,
}: Pick<ManagementDeps, 'eventStore' | 'log' | 'steadyClock' | 'projectRoute'>): Route => {
  const live = createLiveEvents({ store: eventStore, log })
  return projectRoute(
    streamEvents,
    limitConcurrency(STREAM_LIMITS)(async ({ projectId, query, request, allowAgain }) => {
      const reader = await live.follow(projectId, query)
      request.onEnd(reader.close)
      closeAtStop(request.message)
      return {
        headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
        type: 'text/event-stream; charset=utf-8',
        stream: write(reader, () => stillAllowed(allowAgain), steadyClock),
      }
    }),
  )
}

async function* write(
  reader: LiveReader,
  allowed: () => Promise<boolean>,
  now: () => number,
): AsyncGenerator<string> {
  try {
    yield `retry: ${RETRY_MS}\n: connected\n\n`
    let sentAt = now()
    let checkedAt = sentAt
    while (await reader.wait(CHECK_MS)) {
      if (now() - checkedAt >= CHECK_MS) {
        if (!(await allowed())) {
          yield 'event: end\ndata: {}\n\n'
          return
        }
        checkedAt = now()
      }
      const { events, gap } = reader.take()
      if (gap) yield `event: gap\ndata: ${JSON.stringify(gap)}\n\n`
      // One by one, so that sending many large events to many readers does not delay other requests.
      for (const event of events) yield `data: ${event}\n\n`
      if (events.length === 0 && !gap) {
        if (now() - sentAt < HEARTBEAT_MS) continue
        yield ': alive\n\n'
      }
      sentAt = now()
    }
  } finally {
    reader.close()
  }
}
