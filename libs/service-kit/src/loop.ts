import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts'

/** Background work of a service, made by `everyMs`, `drain` or `untilStopped`. */
export type Loop = {
  name: string
  /** Pause between two runs, and after one that failed, in ms. */
  pauseMs: number
  /** Resolves to what comes next: the pause, or another run at once. */
  run: (signal: AbortSignal) => Promise<'pause' | 'continue'>
}

/** Runs `run` at the start and again `pauseMs` after it has ended. */
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
 * Works off a backlog: calls `takeBatch`, which answers how many items it handled, until that is none, and again
 * `pauseMs` later.
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

/** Keeps `run` going, which ends when the signal aborts; it is started again after a failure. */
export const untilStopped = (name: string, run: (signal: AbortSignal) => Promise<void>): Loop =>
  everyMs(name, RESTART_MS, run)

/** Runs a loop until it is stopped; a failing run is logged and tried again after the pause. */
export const startLoop = ({ name, pauseMs, run }: Loop, log: Log): { stop(): Promise<void> } => {
  const stopping = new AbortController()
  const { signal } = stopping

  const repeat = async (): Promise<void> => {
    while (!signal.aborted) {
      const next = await run(signal).catch((error) => {
        if (!signal.aborted) log.warn({ loop: name, err: error }, 'Background run failed; retrying')
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
