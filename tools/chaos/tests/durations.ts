import { extent } from '@waymark/testing'

/** How long a server is away, in ms. */
export const AWAY_MS = extent(9_000, 20_000)

/** The longest that anybody may wait for an answer, in ms: what is promised and a margin for a busy machine. */
export const DEADLINE_MS = 5_000 + 2_000

/** How long everything may take to be well again, in ms. */
export const RECOVERY_MS = 120_000
