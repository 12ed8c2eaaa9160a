import { type Platform, rateLimit } from '@waymark/service-kit'

/** How often clients may send events, as the project set it or else the deployment, and write profiles. */
export const createLimits = ({
  rateLimiter,
  ingestRateLimiter,
  limits,
  projectConfigs,
}: Pick<Platform, 'rateLimiter' | 'ingestRateLimiter' | 'limits' | 'projectConfigs'>) => {
  const ingest = (bucket: string) =>
    rateLimit({
      limiter: ingestRateLimiter,
      bucket,
      limitFor: async ({ projectId }) => {
        const { settings } = await projectConfigs.get(projectId)
        return settings.ingestRequestsPerMinute ?? limits.ingestPerMinute
      },
    })
  return {
    track: ingest('ingest'),
    identify: ingest('identify'),
    profile: rateLimit({ limiter: rateLimiter, bucket: 'profile', limitFor: () => limits.profilePerMinute }),
  }
}
