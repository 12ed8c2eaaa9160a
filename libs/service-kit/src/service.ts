import type { Consumer } from '@waymark/event-bus'
import type { Route } from './http/router.ts'
import type { Loop } from './loop.ts'

/** What an app is made of, whichever process it runs in. */
export type Service = { routes?: Route[]; consumers?: Consumer[]; loops?: Loop[] }

/** Several services as one, for a process that runs them all. */
export const combineServices = (services: readonly Service[]): Required<Service> => ({
  routes: services.flatMap(({ routes = [] }) => routes),
  consumers: services.flatMap(({ consumers = [] }) => consumers),
  loops: services.flatMap(({ loops = [] }) => loops),
})
