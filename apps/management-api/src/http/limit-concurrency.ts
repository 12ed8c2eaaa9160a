import { AppError } from '@waymark/contracts'
import type { ProjectReply } from './entity-tag.ts'
import type { ProjectRequest } from './project-route.ts'

/** How many long answers one process gives at once, for one project and in total. */
type ConcurrencyLimits = {
  perProject: number
  total: number
  /** Their name in error messages. Default: `exports`. */
  what?: string
}

const RETRY_S = 10

type Answer<B, Q> = (request: ProjectRequest<B, Q>) => Promise<ProjectReply>

/**
 * Limits how many exports or streams run at once, so that one project cannot occupy all of them. Each counts until its
 * answer has ended or failed. Beyond a limit the answer is 429.
 */
export const limitConcurrency = <B, Q>(
  { perProject, total, what = 'exports' }: ConcurrencyLimits,
  answer: Answer<B, Q>,
): Answer<B, Q> => {
  const running = new Map<string, number>()
  let all = 0
  return async (asked) => {
    const { projectId, request } = asked
    const ofProject = running.get(projectId) ?? 0
    if (ofProject >= perProject)
      throw tooMany(`This project has ${perProject} ${what} running, as many as one project may`)
    if (all >= total) throw tooMany(`${total} ${what} are running, as many as one process may make`)
    all++
    running.set(projectId, ofProject + 1)
    request.onEnd(() => {
      all--
      const left = (running.get(projectId) ?? 1) - 1
      if (left > 0) running.set(projectId, left)
      else running.delete(projectId)
    })
    return answer(asked)
  }
}

const tooMany = (message: string): AppError =>
  new AppError('rate_limited', `${message}; repeat this in ${RETRY_S} seconds`, {
    retryAfterSeconds: RETRY_S,
  })
