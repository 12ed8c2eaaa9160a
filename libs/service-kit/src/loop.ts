import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts'
import type { Loop } from './service.ts'

/** Runs a loop until it is stopped; a failing run is logged and tried again after the pause. */
export const startLoop = ({ name, everyMs, run }: Loop, log: Log): { stop(): Promise<void> } => {
  const stopping = new AbortController()
  const { signal } = stopping

  const goRound = async (): Promise<void> => {
    while (!signal.aborted) {
      const more = await run(signal).catch((error) => {
        if (!signal.aborted) log.warn({ loop: name, err: error }, 'a run failed and is tried again')
        return false
      })
      if (!more) await sleep(everyMs, undefined, { signal }).catch(() => {})
    }
  }

  const done = goRound()
  return {
    stop: async () => {
      stopping.abort()
      await done
    },
  }
}
