import type { PathsRequest, PathsView } from '@waymark/contracts/http/analytics'
import type { PathsQuery } from '@waymark/event-store'
import type { QueryStore } from './run-queries.ts'
import { readRange } from './time-range.ts'

/** Reads a paths query. @throws AppError unprocessable with the invalid field */
export const readPaths = (request: PathsRequest): Omit<PathsQuery, 'projectId'> => {
  const { startEvent, endEvent, depth, limit } = request
  return { ...readRange(request), startEvent, endEvent, depth, limit }
}

/** Runs a paths query. */
export const answerPaths = async (
  queryStore: QueryStore,
  projectId: string,
  query: Omit<PathsQuery, 'projectId'>,
): Promise<PathsView> => {
  const rows = await queryStore((store) => store.measurePaths({ projectId, ...query }))
  const nodes = new Map<string, PathsView['nodes'][number]>()
  const nodeAt = (step: number, name: string): string => {
    const id = `${step}:${name}`
    nodes.set(id, { id, step, name })
    return id
  }
  const links = rows.map(({ step, source, target, people }) => ({
    source: nodeAt(step, source),
    target: nodeAt(step + 1, target),
    people,
  }))
  return { nodes: [...nodes.values()].sort((a, b) => a.step - b.step || (a.name < b.name ? -1 : 1)), links }
}
