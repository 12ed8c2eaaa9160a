import { setTimeout as sleep } from 'node:timers/promises'

/** Times in ms. */
export type BatcherOptions<T> = {
  /** Sends a batch. When it rejects, the batch is sent again after `retryMs`, with what was added meanwhile. */
  send: (batch: readonly T[]) => Promise<void>
  /** How long items are collected before they are sent. */
  lingerMs: number
  retryMs: number
  /** Most items in a batch (1,000). */
  maxBatch?: number
  /** Most items that wait. */
  maxWaiting: number
  /** How long sending is still tried after the signal aborts (10 s). */
  drainMs?: number
}

/** Collects items and sends them in batches, in order, without the caller waiting. */
type Batcher<T> = {
  /** Adds an item. False when too many are waiting and it was dropped. */
  add(item: T): boolean
  /** How many items wait to be sent. */
  waiting(): number
  /** Sends items until `signal` aborts, and then those that are left. Returns how many could not be sent. */
  run(signal: AbortSignal): Promise<number>
}

const MAX_BATCH = 1_000
const DRAIN_MS = 10_000

/** Items are kept in memory only: those that wait are lost when the process is killed. */
export const createBatcher = <T>({
  send,
  lingerMs,
  retryMs,
  maxBatch = MAX_BATCH,
  maxWaiting,
  drainMs = DRAIN_MS,
}: BatcherOptions<T>): Batcher<T> => {
  const waiting: T[] = []
  let wake = (): void => {}

  const waitForItems = async (signal: AbortSignal): Promise<void> => {
    if (waiting.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    if (waiting.length < maxBatch) await pause(lingerMs, signal)
  }

  const sendBatch = async (signal?: AbortSignal): Promise<void> => {
    const batch = waiting.slice(0, maxBatch)
    try {
      await send(batch)
      waiting.splice(0, batch.length)
    } catch {
      await pause(retryMs, signal)
    }
  }

  return {
    add: (item) => {
      if (waiting.length >= maxWaiting) return false
      waiting.push(item)
      if (waiting.length === 1) wake()
      return true
    },
    waiting: () => waiting.length,
    run: async (signal) => {
      // Once for all waits: the signal lives as long as the process.
      signal.addEventListener('abort', () => wake(), { once: true })
      while (!signal.aborted) {
        await waitForItems(signal)
        if (waiting.length > 0 && !signal.aborted) await sendBatch(signal)
      }
      const stopAt = performance.now() + drainMs
      while (waiting.length > 0 && performance.now() < stopAt) await sendBatch()
      return waiting.length
    },
  }
}

/** Waits for `ms`, or until `signal` aborts. */
const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  sleep(ms, undefined, signal && { signal }).catch(() => {})
