import type { ProjectConfig } from '@waymark/project-config'
import { limiterBySize, type Platform, rateLimit } from '@waymark/service-kit'
import { eventConfigOf } from './intake.ts'

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
  return {
    // The limit is read first, so a failed read must give the same error as the events would.
    track: ingest('ingest', (projectId) => eventConfigOf(projectConfigs, projectId)),
    identify: ingest('identify', projectConfigs.get),
    profile: rateLimit({
      limiter: limiterBySize({ rateLimiter, ingestRateLimiter }),
      bucket: 'profile',
      limitFor: () => ({ perMinute: limits.profilePerMinute, setting: 'LIMIT_PROFILE_PER_MINUTE' }),
      perKey: true,
    }),
  }
}
