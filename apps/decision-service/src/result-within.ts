/**
 * The result of `work`, or undefined when it takes longer than `ms`. Unlike `within` of the contracts, it takes an answer
 * that was waiting in the event loop while the process paused.
 */
export const resultWithin = <T>(ms: number, work: Promise<T>): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(resolve, undefined), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
