import { AppError } from '@waymark/contracts/app-error'
import { MAX_QUERIES_PER_PROJECT, QUERY_TIMEOUT_MS } from '@waymark/contracts/http/analytics-parts'
import { createFairQueue, ownerOfProject } from '@waymark/domain/fairness'
import {
  type EventQueries,
  type EventStore,
  EventStoreUnavailableError,
  QueryTimeoutError,
} from '@waymark/event-store'
import { disconnectSignal, type HttpRequest } from '@waymark/service-kit'
import { timeText } from './time-range.ts'

/** Requests with queries that this process answers at once, of all and of one tenant. */
const MAX_QUERIES = 64
const MAX_QUERIES_PER_TENANT = 8
/** The same for lists of events, which wait for their turn. */
const MAX_LISTS = 16
const MAX_LISTS_PER_TENANT = 8
/** How long a list may take, in ms, including its wait: below the deadline of the request. */
const LIST_TIMEOUT_MS = 4_000
/** Queries of visitors of shared links, which must not use up what the project's own users have. */
const MAX_SHARED_QUERIES = 16
const MAX_SHARED_QUERIES_PER_TENANT = 4
const MAX_SHARED_QUERIES_PER_PROJECT = 2
/** Queries of alerts, which run one after another. */
const MAX_ALERT_QUERIES = 1
/** The same for subscriptions. */
const MAX_SUBSCRIPTION_QUERIES = 1
/** How long a query waits for others of its project and tenant, in ms: refused at once, a client would ask without pause. */
const MAX_WAIT_MS = 1_000
/** Retry time of a query that was refused, in s. */
const BUSY_RETRY_S = 1
const LATE_RETRY_S = 10
const AWAY_RETRY_S = 30

/** Runs one query. @throws QueryTimeoutError when there is no time left */
export type QueryStore = <T>(query: (store: EventQueries) => Promise<T>) => Promise<T>

type MaybeRange = { from?: number | undefined; to?: number | undefined }

/** Answers a request about a project by one or more queries of the store. */
export type RunQuery = <T>(
  about: MaybeRange & {
    projectId: string
    request: Pick<HttpRequest, 'onEnd'>
    /** Less than what a query may take otherwise. */
    timeoutMs?: number
    /** Whose query it is: of the project's users and keys, unless given. */
    lane?: 'own' | 'shared' | 'alerts' | 'subscriptions'
  },
  /** `stop` aborts once the time is over or the client has disconnected. */
  answer: (queryStore: QueryStore, stop: AbortSignal) => Promise<T>,
) => Promise<T>

/** Answers a request by reading events. `read` gets a store whose queries end with the request. */
export type RunList = <T>(
  about: { projectId: string; request: Pick<HttpRequest, 'onEnd'>; timeoutMs?: number },
  read: (store: EventQueries) => Promise<T>,
) => Promise<T>

/**
 * Limits how long lists of events take, and how many of one tenant this process reads at a time. They take turns, apart
 * from other queries.
 */
export const createRunList = (store: Pick<EventStore, 'queriesUntil'>): RunList => {
  const queue = createFairQueue({
    what: 'lists of events',
    capacity: MAX_LISTS,
    perTenant: MAX_LISTS_PER_TENANT,
    retryAfterSeconds: BUSY_RETRY_S,
  })
  return ({ projectId, request, timeoutMs = LIST_TIMEOUT_MS }, read) => {
    const run = (store: EventQueries, signal: AbortSignal) =>
      queue.run(ownerOfProject(projectId), () => read(store), { signal })
    return untilTimeout(
      store,
      disconnectSignal(request),
      timeoutMs,
      run,
      'repeat it, or ask for fewer events',
    )
  }
}

/**
 * Limits how long a query takes and how many of one project and one tenant this process runs at a time. Each process counts its own.
 * The store stops a query that takes too long, or whose client has disconnected. It counts until the store has stopped.
 */
export const createRunQuery = (
  store: Pick<EventStore, 'queriesUntil'>,
  defaultTimeoutMs = QUERY_TIMEOUT_MS,
): RunQuery => {
  const queue = createFairQueue({
    what: 'queries',
    capacity: MAX_QUERIES,
    perTenant: MAX_QUERIES_PER_TENANT,
    lanes: {
      own: { perProject: MAX_QUERIES_PER_PROJECT },
      shared: {
        max: MAX_SHARED_QUERIES,
        perTenant: MAX_SHARED_QUERIES_PER_TENANT,
        perProject: MAX_SHARED_QUERIES_PER_PROJECT,
      },
      alerts: { max: MAX_ALERT_QUERIES },
      subscriptions: { max: MAX_SUBSCRIPTION_QUERIES },
    },
    retryAfterSeconds: BUSY_RETRY_S,
  })

  return async ({ projectId, from, to, request, timeoutMs = defaultTimeoutMs, lane = 'own' }, answer) => {
    const disconnected = disconnectSignal(request)
    const end = await queue.acquire(ownerOfProject(projectId), {
      lane,
      maxWaitMs: MAX_WAIT_MS,
      signal: disconnected,
    })
    const run = (queries: EventQueries, stop: AbortSignal) => {
      const queryStore: QueryStore = async (query) => {
        stop.throwIfAborted()
        return query(queries)
      }
      return answer(queryStore, stop).finally(end)
    }
    return untilTimeout(store, disconnected, timeoutMs, run, adviceFor({ from, to }))
  }
}

/** Runs queries that stop after a time or when the client disconnects. @throws AppError store_unavailable */
const untilTimeout = async <T>(
  store: Pick<EventStore, 'queriesUntil'>,
  disconnected: AbortSignal,
  timeoutMs: number,
  run: (queries: EventQueries, stop: AbortSignal) => Promise<T>,
  advice: string,
): Promise<T> => {
  const deadline = AbortSignal.timeout(timeoutMs)
  const stop = AbortSignal.any([disconnected, deadline])
  const stopped = new Promise<never>((_, reject) => {
    stop.addEventListener('abort', () => reject(stop.reason))
  })
  try {
    return await Promise.race([run(store.queriesUntil(stop), stop), stopped])
  } catch (error) {
    // The client has disconnected, so this answer is never sent. An error of the server would be logged.
    if (disconnected.aborted) throw new AppError('bad_request', 'The client closed the connection')
    throw readErrorOf(error === deadline.reason ? new QueryTimeoutError('late') : error, timeoutMs, advice)
  }
}

const adviceFor = ({ from, to }: MaybeRange): string =>
  from === undefined || to === undefined
    ? 'search for fewer people'
    : `ask for a shorter time range, such as ${timeText(Math.ceil((from + to) / 2))} to ${timeText(to)}`

/** The answer to an error of the store; other errors as they are. */
const readErrorOf = (error: unknown, timeoutMs: number, advice: string): unknown => {
  if (error instanceof QueryTimeoutError)
    return new AppError(
      'store_unavailable',
      `The query took longer than ${timeoutMs / 1_000} s or needed too much memory; ${advice}`,
      { retryAfterSeconds: LATE_RETRY_S },
      { cause: error },
    )
  return error instanceof EventStoreUnavailableError ? storeAway(error) : error
}

/** 503 while the store is away. */
const storeAway = (cause: Error): AppError =>
  new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfterSeconds: AWAY_RETRY_S }, { cause })
