import {
  type AnalyticsQueries,
  type AnalyticsStore,
  AnalyticsUnavailableError,
  QueryTimeoutError,
} from '@waymark/analytics'
import { AppError } from '@waymark/contracts/app-error'
import { MAX_QUERIES_PER_PROJECT, QUERY_TIMEOUT_MS } from '@waymark/contracts/http/analytics-parts'
import { createFairQueue, ownerOfProject } from '@waymark/domain/fairness'
import { disconnectSignal, type HttpRequest } from '@waymark/service-kit'
import { timeText } from './time-range.ts'

/** Requests with queries that this process answers at once, of all and of one tenant. */
const MAX_QUERIES = 64
const MAX_QUERIES_PER_TENANT = 8
/** Retry time of a query that was refused, in s. */
const BUSY_RETRY_S = 1
const LATE_RETRY_S = 10
const AWAY_RETRY_S = 30

/** Runs one query. @throws QueryTimeoutError when there is no time left */
export type QueryStore = <T>(query: (store: AnalyticsQueries) => Promise<T>) => Promise<T>

type MaybeRange = { from?: number | undefined; to?: number | undefined }

/** Answers a request about a project by one or more queries of the store. */
export type RunQuery = <T>(
  about: MaybeRange & {
    projectId: string
    request: Pick<HttpRequest, 'onEnd'>
    /** Less than what a query may take otherwise. */
    timeoutMs?: number
  },
  answer: (queryStore: QueryStore) => Promise<T>,
) => Promise<T>

/**
 * Limits how long a query takes and how many of one project and one tenant this process runs at a time. Each process counts its own.
 * The store stops a query that takes too long, or whose client has disconnected. It counts until the store has stopped.
 */
export const createRunQuery = (
  store: Pick<AnalyticsStore, 'queriesUntil'>,
  defaultTimeoutMs = QUERY_TIMEOUT_MS,
): RunQuery => {
  const queue = createFairQueue({
    what: 'queries',
    capacity: MAX_QUERIES,
    perTenant: MAX_QUERIES_PER_TENANT,
    lanes: { default: { perProject: MAX_QUERIES_PER_PROJECT } },
    retryAfterSeconds: BUSY_RETRY_S,
  })

  return async ({ projectId, from, to, request, timeoutMs = defaultTimeoutMs }, answer) => {
    const end = queue.acquireNow(ownerOfProject(projectId))
    const disconnected = disconnectSignal(request)
    const deadline = AbortSignal.timeout(timeoutMs)
    const stop = AbortSignal.any([disconnected, deadline])
    const stopped = new Promise<never>((_, reject) => {
      stop.addEventListener('abort', () => reject(stop.reason))
    })
    const queries = store.queriesUntil(stop)
    const queryStore: QueryStore = async (query) => {
      stop.throwIfAborted()
      return query(queries)
    }
    const answering = answer(queryStore).finally(end)
    try {
      return await Promise.race([answering, stopped])
    } catch (error) {
      // The client has disconnected, so this answer is never sent. An error of the server would be logged.
      if (disconnected.aborted) throw new AppError('bad_request', 'The client closed the connection')
      if (error === deadline.reason) throw late({ from, to }, timeoutMs, deadline.reason)
      if (error instanceof QueryTimeoutError) throw late({ from, to }, timeoutMs, error)
      if (error instanceof AnalyticsUnavailableError) throw away(error)
      throw error
    }
  }
}

const late = ({ from, to }: MaybeRange, timeoutMs: number, cause: Error): AppError => {
  const less =
    from === undefined || to === undefined
      ? 'search for fewer people'
      : `ask for a shorter time range, such as ${timeText(Math.ceil((from + to) / 2))} to ${timeText(to)}`
  return new AppError(
    'store_unavailable',
    `The query took longer than ${timeoutMs / 1_000} s or needed too much memory; ${less}`,
    { retryAfterSeconds: LATE_RETRY_S },
    { cause },
  )
}

const away = (cause: Error): AppError =>
  new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfterSeconds: AWAY_RETRY_S }, { cause })
