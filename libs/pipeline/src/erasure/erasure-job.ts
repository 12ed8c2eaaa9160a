import type { Analytics } from '@waymark/analytics'
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
export type PurgeDeps = { db: Database; analytics: Analytics }
