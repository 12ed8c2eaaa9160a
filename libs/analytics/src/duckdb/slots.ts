type Waiting<T> = { start(thing: T): void }

/**
 * A pool of slots, each used by one caller at a time. Owners take turns, and one never holds more than `maxPerOwner`,
 * so that the others need not wait for all its requests.
 */
export const createSlots = <T>(things: readonly T[], maxPerOwner = things.length) => {
  const free = [...things]
  const used = new Map<string, number>()
  // In the order of their turns.
  const waiting = new Map<string, Waiting<T>[]>()
  let closed = false

  const usedBy = (owner: string): number => used.get(owner) ?? 0
  const setUsed = (owner: string, count: number): void => {
    if (count > 0) used.set(owner, count)
    else used.delete(owner)
  }
  const startNext = (): void => {
    for (const [owner, queue] of waiting) {
      if (free.length === 0) return
      if (usedBy(owner) >= maxPerOwner) continue
      const next = queue.shift()
      waiting.delete(owner)
      if (queue.length > 0) waiting.set(owner, queue)
      const thing = free.pop()
      if (next === undefined || thing === undefined) continue
      setUsed(owner, usedBy(owner) + 1)
      next.start(thing)
    }
  }
  const take = (owner: string, signal?: AbortSignal): Promise<T> => {
    if (closed) return Promise.reject(new Error('The store is closed'))
    return new Promise((resolve, reject) => {
      const queue = waiting.get(owner) ?? []
      const leave = (): void => {
        const place = queue.indexOf(entry)
        if (place >= 0) queue.splice(place, 1)
        if (queue.length === 0) waiting.delete(owner)
        reject(signal?.reason)
      }
      const entry: Waiting<T> = {
        start: (thing) => {
          signal?.removeEventListener('abort', leave)
          resolve(thing)
        },
      }
      signal?.addEventListener('abort', leave)
      queue.push(entry)
      waiting.set(owner, queue)
      startNext()
    })
  }

  return {
    /** Whether the owner would get a slot now. */
    isFree: (owner: string): boolean => free.length > 0 && usedBy(owner) < maxPerOwner,
    /** Waits for a free slot. Rejects with the signal's reason when it aborts first. */
    use: async <R>(work: (thing: T) => Promise<R>, owner: string, signal?: AbortSignal): Promise<R> => {
      const thing = await take(owner, signal)
      try {
        return await work(thing)
      } finally {
        setUsed(owner, usedBy(owner) - 1)
        free.push(thing)
        startNext()
      }
    },
    /** Waits until all slots are free and prevents further use. */
    close: async (): Promise<void> => {
      await Promise.all(things.map((_, place) => take(`close ${place}`)))
      closed = true
    },
  }
}
