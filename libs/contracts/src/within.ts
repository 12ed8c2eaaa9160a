/**
 * The outcome of `work`, or a rejection with `late()` after `ms`. The work itself continues. For what every request does:
 * unlike `p-timeout`, it creates an error, whose stack is slow to collect, only when the time is over.
 */
export const within = <T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
