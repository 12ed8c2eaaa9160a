import { type Client, createClient } from './client.ts'
import type { Call, Waymark } from './types.ts'

/** Calls before `init` are made after it. */
export const createWaymark = (): Waymark => {
  let client: Client | undefined
  let early: ((started: Client) => void)[] = []
  const call = (use: (started: Client) => void): void => {
    if (client) use(client)
    else early.push(use)
  }
  const waymark: Waymark = {
    init: (options) => {
      if (client) return
      client = createClient(window, options)
      for (const use of early) use(client)
      early = []
    },
    track: (...args) => call((one) => one.track(...args)),
    page: (...args) => call((one) => one.page(...args)),
    identify: (...args) => call((one) => one.identify(...args)),
    reset: () => call((one) => one.reset()),
    decide: (keys) => new Promise((resolve) => call((one) => resolve(one.decide(keys)))),
    setConsent: (consent) => call((one) => one.setConsent(consent)),
    push: ([name, ...args]: Call) => {
      const method = waymark[name as keyof Waymark] as ((...args: unknown[]) => void) | undefined
      method?.(...args)
    },
  }
  return waymark
}
