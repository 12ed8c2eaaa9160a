import type { AnalyticsWrites } from '@waymark/analytics'
import type { Database } from '@waymark/database'

/** An erasure that goes through all stores: who the person was, and until when what was received of them must go. */
export type ErasureJob = {
  id: string
  projectId: string
  /** The profile and those that were merged into it. */
  profileIds: string[]
  visitorIds: string[]
  userIds: string[]
  erasedAt: Date
}

/** The stores that a purge goes through. */
export type PurgeDeps = {
  db: Database
  analytics: Pick<AnalyticsWrites, 'eraseEvents' | 'eraseProfiles'>
  /** Deletes the copies of these deliveries' messages, where this process keeps any. Repeating it does no harm. */
  deleteMailCopies?: ((deliveryIds: readonly string[]) => Promise<void>) | undefined
}
