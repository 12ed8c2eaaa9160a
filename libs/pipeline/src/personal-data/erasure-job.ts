import type { AnalyticsWrites } from '@waymark/analytics'
import type { Database } from '@waymark/database'

/** Deletes a person's data from all stores: everything that was received until `erasedAt`. */
export type ErasureJob = {
  id: string
  projectId: string
  /** The profile and those that were merged into it. */
  profileIds: string[]
  visitorIds: string[]
  userIds: string[]
  erasedAt: Date
}

/** The stores of a purge. */
export type PurgeDeps = {
  db: Database
  analytics: Pick<AnalyticsWrites, 'eraseEvents' | 'eraseProfiles'>
  /** Deletes the copies of the messages of deliveries, where this process keeps any. It is idempotent. */
  deleteMailCopies?: ((deliveryIds: readonly string[]) => Promise<void>) | undefined
}
