import { Counter, type Registry } from 'prom-client'

type Options = { name: string; help: string; labelNames?: string[] }

/** The existing counter of the name, because several parts of one process count the same. */
export const counterIn = (registry: Registry, options: Options): Counter =>
  (registry.getSingleMetric(options.name) as Counter | undefined) ??
  new Counter({ ...options, registers: [registry] })
