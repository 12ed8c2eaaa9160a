import type { AppError } from '@waymark/contracts/app-error'
import type { ProjectConfig } from '@waymark/project-config'
import {
  type HttpRequest,
  type KeyCall,
  limitedClient,
  limiterBySize,
  type Platform,
  rateLimit,
  tooManyRequests,
} from '@waymark/service-kit'
import type { Change } from './identify.ts'
import { eventConfigOf } from './intake.ts'

const WINDOW_MS = 60_000

/** For each change in turn whether the limits allow it, and the error for those that they do not. */
export type LimitedPeople = { allowed: boolean[]; error: AppError }

/** Rate limits of events, from the project's settings or else the deployment's, and of profile writes. */
export const createLimits = ({
  rateLimiter,
  ingestRateLimiter,
  limits,
  projectConfigs,
}: Pick<Platform, 'rateLimiter' | 'ingestRateLimiter' | 'limits' | 'projectConfigs'>) => {
  const ingest = (bucket: string, configOf: (projectId: string) => Promise<ProjectConfig>) =>
    rateLimit({
      limiter: ingestRateLimiter,
      bucket,
      limitFor: async ({ projectId }) => {
        const { ingestRequestsPerMinute } = (await configOf(projectId)).settings
        return ingestRequestsPerMinute === undefined
          ? { perMinute: limits.ingestPerMinute, setting: 'LIMIT_INGEST_PER_MINUTE' }
          : { perMinute: ingestRequestsPerMinute, setting: 'ingestRequestsPerMinute of the project' }
      },
    })
  const profileLimit = { perMinute: limits.profilePerMinute, setting: 'LIMIT_PROFILE_PER_MINUTE' }
  const identifyLimit = { perMinute: limits.ingestPerMinute, setting: 'LIMIT_INGEST_PER_MINUTE' }
  const limiterFor = limiterBySize({ rateLimiter, ingestRateLimiter })

  return {
    /**
     * Counts the changes of people in one request with a `pub` key, as the endpoints for one person count them: links of a
     * visitor and a user like identify calls, other traits like profile writes. A `sec` key is a server, which may import.
     */
    people: async (
      apiKey: KeyCall['apiKey'],
      { ip }: Pick<HttpRequest, 'ip'>,
      changes: readonly Pick<Change, 'visitorId' | 'userId'>[],
    ): Promise<LimitedPeople> => {
      const profileClient = limitedClient(apiKey, ip, profileLimit, false)
      const error = tooManyRequests(profileClient, 'changes of people', WINDOW_MS / 1_000)
      if (apiKey.kind === 'sec') return { allowed: changes.map(() => true), error }
      const identifyClient = limitedClient(apiKey, ip, identifyLimit, false)
      const uses = changes.map(({ visitorId, userId }) => {
        const isLink = visitorId !== null && userId !== null
        const { key, perMinute: limit } = isLink ? identifyClient : profileClient
        const bucket = isLink ? 'identify' : 'profile'
        return limiterFor(limit).consume({ bucket, key, limit, windowMs: WINDOW_MS })
      })
      return { allowed: (await Promise.all(uses)).map(({ allowed }) => allowed), error }
    },
    // The limit is read first, so a failed read must give the same error as the events would.
    track: ingest('ingest', (projectId) => eventConfigOf(projectConfigs, projectId)),
    identify: ingest('identify', projectConfigs.get),
    profile: rateLimit({
      limiter: limiterFor,
      bucket: 'profile',
      limitFor: () => profileLimit,
      perKey: true,
    }),
  }
}
