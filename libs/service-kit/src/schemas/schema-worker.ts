import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { usabilityProblems } from '@waymark/domain/catalog'
import type { StartedTask } from '../workers/project-workers.ts'

/** Entry point of the worker thread. */
export default async ({ task: schema, started }: StartedTask<object>): Promise<ValidationItem[]> => {
  started.postMessage('started')
  return usabilityProblems(schema)
}
