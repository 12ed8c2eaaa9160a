import type { RequestListener } from 'node:http'
import type { Log } from '@waymark/contracts/log'
import type { Consumer } from '@waymark/event-bus'
import { Router } from 'express'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { createHttpApp } from './http/create-http-app.ts'
import { listen } from './http/http-server.ts'
import { type HostRoutes, mountRoutes, type Route } from './http/router.ts'
import { type Loop, startLoop } from './loop.ts'
import { countFailedRuns } from './metrics/count-failed-runs.ts'
import type { Platform } from './platform.ts'
import type { HttpConfig } from './platform-config.ts'
import type { Scope } from './scope.ts'
import { countUnhandledRejections } from './unhandled-rejections.ts'

/** The parts of an app, in whichever process it runs. */
export type Service = {
  /** The router that `routes` are added to, with any middleware of Express that runs before them. */
  router?: Router
  routes?: Route[]
  hostRoutes?: HostRoutes | undefined
  consumers?: Consumer[]
  loops?: Loop[]
  /** Servers of other protocols, each on a port of its own. */
  servers?: OtherServer[]
}

/** A server that is not the HTTP server of the app. `host` is the address that it listens on, empty for all. */
export type OtherServer = {
  name: string
  listen: (host: string) => Promise<{ port: number; stop: () => Promise<void> }>
}

/** Combines several services into one, for a process that runs them all. Only one may have `hostRoutes`. */
export const combineServices = (services: readonly Service[]): Required<Service> => ({
  hostRoutes: services.find(({ hostRoutes }) => hostRoutes !== undefined)?.hostRoutes,
  router: Router().use(...services.map(({ router = Router(), routes = [] }) => mountRoutes(router, routes))),
  routes: [],
  consumers: services.flatMap(({ consumers = [] }) => consumers),
  loops: services.flatMap(({ loops = [] }) => loops),
  servers: services.flatMap(({ servers = [] }) => servers),
})

/**
 * Starts the consumers and loops of a service, and then its HTTP server. They stop in reverse order when the scope ends.
 * `http.deadlineMs` overrides the deadline of every operation and the wait for a turn in a fair queue, in ms.
 * @returns the ports; `metricsPort` is 0 when the port for metrics could not be opened
 * @throws when the port for requests is taken
 */
export const startService = async (
  { router = Router(), routes = [], hostRoutes, consumers = [], loops = [], servers = [] }: Service,
  http: Omit<HttpConfig, 'drainMs' | 'host'> &
    Partial<Pick<HttpConfig, 'drainMs' | 'host'>> & { deadlineMs?: number },
  { log, metrics, tracer }: Pick<Platform, 'log' | 'metrics' | 'tracer'>,
  scope: Scope,
): Promise<{ port: number; metricsPort: number }> => {
  const stopCounting = countUnhandledRejections(metrics)
  scope.onStop('rejections', async () => stopCounting())
  scope.onStop('consumers', () => Promise.all(consumers.map((consumer) => consumer.stop())))
  for (const consumer of consumers) await consumer.start()
  const failedRuns = countFailedRuns(metrics)
  const started = loops.map((loop) => startLoop(loop, log, failedRuns(loop)))
  scope.onStop('loops', () => Promise.all(started.map((loop) => loop.stop())))

  const metricsServer = await listenForMetrics(http, metrics, log)
  if (metricsServer) scope.onStop('metrics', () => metricsServer.stop())

  // They end after the HTTP server, so also after the time in which proxies hear of the stop.
  for (const { name, listen: open } of servers) {
    const other = await open(http.host ?? '')
    scope.onStop(name, other.stop)
    log.info({ server: name, port: other.port }, 'Listening')
  }

  let ready = true
  const app = createHttpApp({
    router: mountRoutes(router, routes),
    hostRoutes,
    trustedProxies: http.trustedProxies,
    isReady: () => ready,
    log,
    metrics,
    tracer,
    ...(http.deadlineMs !== undefined && { deadlineMs: http.deadlineMs }),
  })
  const server = await listen(app, http.port, http.host)
  scope.onStop('http', () => {
    ready = false
    return server.stop({ drainMs: http.drainMs ?? 0 })
  })
  const ports = { port: server.port, metricsPort: metricsServer?.port ?? 0 }
  log.info(ports, 'Listening')
  return ports
}

/** Returns undefined when the port cannot be opened, because a service can run without metrics. */
const listenForMetrics = async (
  { metricsPort: port, host }: Pick<HttpConfig, 'metricsPort'> & Partial<Pick<HttpConfig, 'host'>>,
  metrics: Platform['metrics'],
  log: Log,
) => {
  try {
    return await listen(metricsApp(metrics), port, host)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const problem = code === 'EADDRINUSE' ? 'is taken' : `cannot be opened (${message})`
    log.warn(
      { port },
      `Port ${port} for metrics ${problem}; starting without metrics. Set METRICS_PORT to another port.`,
    )
    return undefined
  }
}

/** Resolution of the event loop lag, in ms. A finer one would wake an idle process more often. */
const LAG_PRECISION_MS = 50

/** Serves the metrics of a registry and of the process at `/metrics`, in the text format of Prometheus. */
const metricsApp = (registry: Registry): RequestListener => {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS })
  return async (req, res) => {
    if (req.url !== '/metrics') return void res.writeHead(404).end()
    res.writeHead(200, { 'Content-Type': registry.contentType }).end(await registry.metrics())
  }
}
