import type { Consumer } from '@waymark/event-bus'
import type { Route } from './http/route.ts'

/** Work that is done again and again. `run` answers true when there is more to do at once, without the pause. */
export type Loop = {
  name: string
  /** Pause between two runs, in ms. */
  everyMs: number
  run: (signal: AbortSignal) => Promise<boolean>
}

/** What an app is made of, whichever process it runs in. */
export type Service = { routes?: Route[]; consumers?: Consumer[]; loops?: Loop[] }

/** Several services as one, for a process that runs them all. */
export const combineServices = (services: readonly Service[]): Required<Service> => ({
  routes: services.flatMap(({ routes = [] }) => routes),
  consumers: services.flatMap(({ consumers = [] }) => consumers),
  loops: services.flatMap(({ loops = [] }) => loops),
})
