import type { ProjectConfig } from '@waymark/project-config'
import { type Platform, rateLimit } from '@waymark/service-kit'
import { eventConfigOf } from './event-config.ts'

/** How often clients may send events, as the project set it or else the deployment, and write profiles. */
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
        const { settings } = await configOf(projectId)
        return settings.ingestRequestsPerMinute ?? limits.ingestPerMinute
      },
    })
  return {
    // The limit is asked first, and says what the events would find.
    track: ingest('ingest', (projectId) => eventConfigOf(projectConfigs, projectId)),
    identify: ingest('identify', projectConfigs.get),
    profile: rateLimit({ limiter: rateLimiter, bucket: 'profile', limitFor: () => limits.profilePerMinute }),
  }
}
