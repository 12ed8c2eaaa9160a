import { AnalyticsDataError, AnalyticsUnavailableError, QueryTimeoutError } from '@waymark/analytics'
import { classifyStoreError, isTransient } from '@waymark/database'
import type { ClassifyError } from '@waymark/event-bus'

/** Whether the primary database or the analytics store is unavailable, so that a retry may succeed. */
export const isStoreUnavailable = (error: unknown): boolean =>
  isTransient(error) || error instanceof AnalyticsUnavailableError || error instanceof QueryTimeoutError

/** Classifies errors of both stores for consumers. */
export const classifyError: ClassifyError = (error) => {
  if (error instanceof AnalyticsUnavailableError || error instanceof QueryTimeoutError) return 'transient'
  return error instanceof AnalyticsDataError ? 'data' : classifyStoreError(error)
}
