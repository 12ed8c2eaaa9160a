/**
 * Returns the first value in the short run (`npm test`) and the second in the full run (`npm run test:chaos`, which sets
 * `CHAOS` to `whole`).
 */
export const extent = <T>(short: T, long: T): T => (process.env.CHAOS === 'whole' ? long : short)
