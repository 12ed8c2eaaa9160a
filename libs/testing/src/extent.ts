/** Whether this is the whole run (`npm run test:chaos`) or the short part of it that `npm test` includes. */
const whole = process.env.CHAOS === 'whole'

/** What a test takes: little when time is short, more in the whole run. */
export const extent = <T>(short: T, long: T): T => (whole ? long : short)
