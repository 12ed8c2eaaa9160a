import { extent } from '@waymark/testing'

const { CHAOS_AWAY_SECONDS } = process.env

/** How long a server is unavailable, in ms. */
export const AWAY_MS = CHAOS_AWAY_SECONDS ? Number(CHAOS_AWAY_SECONDS) * 1_000 : extent(9_000, 20_000)

/** The longest acceptable response time, in ms: the guarantee plus a margin for a busy machine. */
export const DEADLINE_MS = 5_000 + 5_000

/** How soon a revoked key is refused, in ms: the guarantee plus a margin for a busy machine. */
export const REVOKED_MS = 5_000 + 5_000

/** The time limit for the recovery, in ms. */
export const RECOVERY_MS = 120_000
