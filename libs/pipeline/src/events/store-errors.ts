import { classifyStoreError, isTransient } from '@waymark/database'
import type { ClassifyError } from '@waymark/event-bus'
import { EventStoreDataError, EventStoreUnavailableError, QueryTimeoutError } from '@waymark/event-store'

/** Whether the primary database or the event store is unavailable, so that a retry may succeed. */
export const isStoreUnavailable = (error: unknown): boolean =>
  isTransient(error) || error instanceof EventStoreUnavailableError || error instanceof QueryTimeoutError

/** Classifies errors of both stores for consumers. */
export const classifyError: ClassifyError = (error) => {
  if (error instanceof EventStoreUnavailableError || error instanceof QueryTimeoutError) return 'transient'
  return error instanceof EventStoreDataError ? 'data' : classifyStoreError(error)
}
