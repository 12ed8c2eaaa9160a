import { createReadThroughCache } from '@waymark/cache'
import type { Log } from '@waymark/contracts/log'
import type { Pool } from 'pg'
import { type AppFiles, readAppFiles } from './link-domain-queries.ts'

/** How long files are used before they are read again, in ms. */
const TTL_MS = 2_000
/** A file has up to 64 KiB. */
const MAX_DOMAINS = 200

/** Reads the app-association files of domains, which are asked for rarely, through a small cache. */
export const createAppFiles = ({ pool, now, log }: { pool: Pool; now: () => number; log: Log }) => {
  const files = createReadThroughCache<AppFiles>({
    name: 'app-association files',
    read: async (domainId) => {
      const value = await readAppFiles(pool, domainId)
      return value && { value }
    },
    isCurrent: (_files, readAt) => now() - readAt <= TTL_MS,
    max: MAX_DOMAINS,
    now,
    log,
  })
  /** A file of a domain, null when it has none. @throws AppError store_unavailable when it cannot be read */
  return async (domainId: string, name: keyof AppFiles): Promise<object | null> =>
    (await files.get(domainId))?.value[name] ?? null
}

export type ReadAppFile = ReturnType<typeof createAppFiles>
