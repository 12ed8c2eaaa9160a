import type { ValidationItem } from '@waymark/contracts'
import { usabilityProblems } from '@waymark/domain'
import type { StartedTask } from '../workers/project-workers.ts'

/** Entry point of the worker thread. */
export default async ({ task: schema, started }: StartedTask<object>): Promise<ValidationItem[]> => {
  started.postMessage('started')
  return usabilityProblems(schema)
}
