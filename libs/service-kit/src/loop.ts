import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'

/** Background work of a service. Create it with `everyMs`, `drain` or `untilStopped`. */
export type Loop = {
  name: string
  /** Pause between two runs, and after a failed one, in ms. */
  pauseMs: number
  /** Resolves to whether a pause follows, or the next run at once. */
  run: (signal: AbortSignal) => Promise<'pause' | 'continue'>
}

/** Calls `run` at the start, and again `pauseMs` after each end. */
export const everyMs = (
  name: string,
  pauseMs: number,
  run: (signal: AbortSignal) => Promise<unknown>,
): Loop => ({
  name,
  pauseMs,
  run: async (signal) => {
    await run(signal)
    return 'pause'
  },
})

/**
 * Works off a backlog. Calls `takeBatch`, which returns the number of handled items, until it returns 0, and again after
 * `pauseMs`.
 */
export const drain = (
  name: string,
  pauseMs: number,
  takeBatch: (signal: AbortSignal) => Promise<number>,
): Loop => ({
  name,
  pauseMs,
  run: async (signal) => ((await takeBatch(signal)) > 0 ? 'continue' : 'pause'),
})

const RESTART_MS = 1_000

/** Calls `run`, which ends when the signal aborts, and calls it again after a failure. */
export const untilStopped = (name: string, run: (signal: AbortSignal) => Promise<void>): Loop =>
  everyMs(name, RESTART_MS, run)

/**
 * Runs a loop until it is stopped. A failed run is logged and reported to `onFailure`, and the next one follows after the
 * pause.
 */
export const startLoop = (
  { name, pauseMs, run }: Loop,
  log: Log,
  onFailure: () => void = () => {},
): { stop(): Promise<void> } => {
  const stopping = new AbortController()
  const { signal } = stopping

  const repeat = async (): Promise<void> => {
    while (!signal.aborted) {
      const next = await run(signal).catch((error) => {
        if (signal.aborted) return 'pause'
        log.warn({ loop: name, err: error }, 'Background run failed; retrying')
        onFailure()
        return 'pause'
      })
      if (next === 'pause') await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  const done = repeat()
  return {
    stop: async () => {
      stopping.abort()
      await done
    },
  }
}
