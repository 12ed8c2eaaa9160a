import path from 'node:path'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { requireNoProblems } from '@waymark/contracts/require-valid'
import { isQuickToCheck, usabilityProblems } from '@waymark/domain/catalog'
import { createProjectWorkers, WorkerLimitError } from '../workers/project-workers.ts'

/**
 * Checks the JSON Schemas of projects in worker threads, because analyzing patterns and compiling may take seconds. Small
 * schemas without patterns are checked on this thread, because a worker may take seconds to start on a busy machine.
 */
export type SchemaChecker = {
  /**
   * Checks that a schema may be saved.
   * @throws AppError unprocessable with the reason in `errors`; rate_limited while many schemas of the tenant wait
   */
  requireUsable(projectId: string, schema: object): Promise<void>
  close(): Promise<void>
}

/** Time for one check, in ms. Long, so that a slow machine does not reject a schema that others accept. */
export const SCHEMA_CHECK_MS = 30_000
/** Most schemas of a tenant that wait for its thread. Further ones are refused. */
const MAX_WAITING = 8

/** Creates a checker. Its threads start with the first schema. */
export const createSchemaChecker = ({
  deadlineMs = SCHEMA_CHECK_MS,
  maxWaiting = MAX_WAITING,
  onError,
}: {
  deadlineMs?: number
  maxWaiting?: number
  /** As of `createProjectWorkers`. */
  onError?: (error: Error) => void
} = {}): SchemaChecker => {
  const filename = path.join(import.meta.dirname, 'schema-worker.ts')
  const workers = createProjectWorkers<object, ValidationItem[]>({
    filename,
    deadlineMs,
    maxWaiting,
    onError,
    what: 'schema checks',
  })
  const problemsFromWorker = async (projectId: string, schema: object): Promise<ValidationItem[]> => {
    return workers.run(projectId, schema).catch((error: unknown) => {
      if (!(error instanceof WorkerLimitError)) throw error
      const takesTooLong = `takes longer than ${deadlineMs} ms to check; use fewer and simpler patterns`
      const message = error.limit === 'time' ? takesTooLong : 'needs too much memory to check'
      return [{ field: 'schema', rule: 'unsafe_schema', message }]
    })
  }
  return {
    requireUsable: async (projectId, schema) => {
      const problems = isQuickToCheck(schema)
        ? await usabilityProblems(schema)
        : await problemsFromWorker(projectId, schema)
      const [first] = problems
      requireNoProblems(problems, `The schema cannot be used: ${first?.field} ${first?.message}`)
    },
    close: workers.close,
  }
}
