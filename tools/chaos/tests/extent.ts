/** Whether this is the whole run (`npm run test:chaos`) or the short part of it that `npm test` includes. */
const whole = process.env.CHAOS === 'whole'

/** What a test takes: little when time is short, more in the whole run. */
export const extent = <T>(short: T, long: T): T => (whole ? long : short)

/** How long a server is away, in ms. */
export const AWAY_MS = extent(9_000, 20_000)

/** The longest that anybody may wait for an answer, in ms: what is promised and a margin for a busy machine. */
export const DEADLINE_MS = 5_000 + 2_000

/** How long everything may take to be well again, in ms. */
export const RECOVERY_MS = 120_000
