import { AppError } from '@waymark/contracts'
import type { TenantOf } from '../projects/tenant-of.ts'
import type { ProjectReply } from './entity-tag.ts'
import type { ProjectRequest } from './project-route.ts'

/** How many long answers one process gives at once, for one project, for all projects of a tenant, and in total. */
type ConcurrencyLimits = {
  perProject: number
  perTenant: number
  total: number
  /** Their name in error messages. Default: `exports`. */
  what?: string
}

const RETRY_S = 10

type Answer<B, Q, Body> = (request: ProjectRequest<B, Q>) => Promise<ProjectReply<Body>>

/**
 * Limits how many exports or streams run at once, so that neither one project nor one tenant with many projects can
 * occupy all of them. Each counts until its answer has ended or failed. Beyond a limit the answer is 429.
 */
export const limitConcurrency = <B, Q, Body>(
  { perProject, perTenant, total, what = 'exports' }: ConcurrencyLimits,
  tenantOf: TenantOf,
  answer: Answer<B, Q, Body>,
): Answer<B, Q, Body> => {
  const ofProjects = createCounts()
  const ofTenants = createCounts()
  let all = 0
  return async (asked) => {
    const { projectId, request } = asked
    const tenantId = await tenantOf(projectId)
    if (ofProjects.of(projectId) >= perProject)
      throw tooMany(`This project has ${perProject} ${what} running, as many as one project may`)
    if (ofTenants.of(tenantId) >= perTenant)
      throw tooMany(
        `The projects of this tenant have ${perTenant} ${what} running, as many as one tenant may`,
      )
    if (all >= total) throw tooMany(`${total} ${what} are running, as many as one process may make`)
    all++
    const leaveProject = ofProjects.add(projectId)
    const leaveTenant = ofTenants.add(tenantId)
    request.onEnd(() => {
      all--
      leaveProject()
      leaveTenant()
    })
    return answer(asked)
  }
}

const createCounts = () => {
  const counts = new Map<string, number>()
  return {
    of: (key: string): number => counts.get(key) ?? 0,
    /** Counts one more. Call the result once, when it has ended. */
    add: (key: string): (() => void) => {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return () => {
        const left = (counts.get(key) ?? 1) - 1
        if (left > 0) counts.set(key, left)
        else counts.delete(key)
      }
    },
  }
}

const tooMany = (message: string): AppError =>
  new AppError('rate_limited', `${message}; repeat this in ${RETRY_S} seconds`, {
    retryAfterSeconds: RETRY_S,
  })
