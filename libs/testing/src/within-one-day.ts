const today = (): string => new Date().toISOString().slice(0, 10)

/**
 * Runs what must happen on one day in UTC, and runs it again if the day has changed meanwhile. Each run must create what it
 * counts. Returns the result of the last run, or throws its error.
 */
export const withinOneDay = async <T>(work: () => Promise<T>): Promise<T> => {
  for (;;) {
    const day = today()
    const [outcome] = await Promise.allSettled([work()])
    if (today() !== day) continue
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }
}
