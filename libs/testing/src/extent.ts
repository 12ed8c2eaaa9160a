/** Whether this is the full run (`npm run test:chaos`) or the short part that `npm test` includes. */
const whole = process.env.CHAOS === 'whole'

/** Returns the first value in the short run and the second in the full run. */
export const extent = <T>(short: T, long: T): T => (whole ? long : short)
