/**
 * Returns a function that runs `work` one at a time. A call during a run gets the next one, which sees everything that is
 * committed by now; all calls during a run share the next one.
 */
export const oneAtATime = (work: () => Promise<void>): (() => Promise<void>) => {
  let running: Promise<void> | undefined
  let following: Promise<void> | undefined
  const run = (): Promise<void> => {
    if (running === undefined) {
      running = work().finally(() => {
        running = undefined
      })
      return running
    }
    following ??= running
      .catch(() => {})
      .then(() => {
        following = undefined
        return run()
      })
    return following
  }
  return run
}
