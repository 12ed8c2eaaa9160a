import { createPurger, type ErasureJob } from '@waymark/pipeline'
import type { Platform } from '@waymark/service-kit'

/** How long an erasure may take within its request, in ms. */
const PURGE_DEADLINE_MS = 5_000

/**
 * Carries out an erasure within the request that asked for it, as far as that goes in time; answers whether nothing is
 * left. The persistence consumer goes on with the rest.
 */
export const createErasurePurge = ({
  log,
  ...stores
}: Pick<Platform, 'db' | 'analytics' | 'cache' | 'log'>) => {
  const purger = createPurger(stores)
  return async (job: ErasureJob): Promise<boolean> => {
    try {
      return await purger.purge(job, AbortSignal.timeout(PURGE_DEADLINE_MS))
    } catch (error) {
      log.warn({ err: error, erasure: job.id }, 'an erasure goes on in the background')
      return false
    }
  }
}
