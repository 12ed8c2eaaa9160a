import { apiKeyOf, type Platform, rateLimit } from '@waymark/service-kit'

/** How often clients may send events, as the project set it or else the deployment, and write profiles. */
export const createLimits = ({
  rateLimiter,
  ingestRateLimiter,
  limits,
  projectConfigs,
}: Pick<Platform, 'rateLimiter' | 'ingestRateLimiter' | 'limits' | 'projectConfigs'>) => ({
  track: rateLimit({
    limiter: ingestRateLimiter,
    bucket: 'ingest',
    limitFor: async (_req, res) => {
      const { settings } = await projectConfigs.get(apiKeyOf(res).projectId)
      return settings.ingestRequestsPerMinute ?? limits.ingestPerMinute
    },
  }),
  profile: rateLimit({ limiter: rateLimiter, bucket: 'profile', limitFor: () => limits.profilePerMinute }),
})
