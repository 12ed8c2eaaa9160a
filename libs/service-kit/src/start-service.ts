import type { RequestListener } from 'node:http'
import type { Log } from '@waymark/contracts'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { createHttpApp } from './http/create-http-app.ts'
import { listen } from './http/http-server.ts'
import { startLoop } from './loop.ts'
import type { Platform } from './platform.ts'
import type { HttpConfig } from './platform-config.ts'
import type { Scope } from './scope.ts'
import type { Service } from './service.ts'

/** A service at work: where it answers. `metricsPort` is 0 when its port could not be opened. */
export type StartedService = { port: number; metricsPort: number }

/**
 * Starts a service: its consumers and loops, then its HTTP. When the scope ends it is the other way round,
 * so that nothing is accepted any more before what was accepted is finished.
 * @throws when a port is taken
 */
export const startService = async (
  { routes = [], consumers = [], loops = [] }: Service,
  http: Omit<HttpConfig, 'drainMs' | 'host'> & Partial<Pick<HttpConfig, 'drainMs' | 'host'>>,
  { log, metrics, tracer }: Pick<Platform, 'log' | 'metrics' | 'tracer'>,
  scope: Scope,
): Promise<StartedService> => {
  scope.onStop('consumers', () => Promise.all(consumers.map((consumer) => consumer.stop())))
  for (const consumer of consumers) await consumer.start()
  const started = loops.map((loop) => startLoop(loop, log))
  scope.onStop('loops', () => Promise.all(started.map((loop) => loop.stop())))

  const metricsServer = await listenForMetrics(http, metrics, log)
  if (metricsServer) scope.onStop('metrics', () => metricsServer.stop())

  let ready = true
  const app = createHttpApp({
    routes,
    trustedProxies: http.trustedProxies,
    isReady: () => ready,
    log,
    metrics,
    tracer,
  })
  const server = await listen(app, http.port, http.host)
  scope.onStop('http', () => {
    ready = false
    return server.stop({ drainMs: http.drainMs ?? 0 })
  })
  return { port: server.port, metricsPort: metricsServer?.port ?? 0 }
}

/** Figures are worth less than the service: it starts without them when their port is taken. */
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

/** How often the event loop's lag is measured, in ms, and the least that its figures show: each time wakes the process. */
const LAG_EVERY_MS = 50

/** Serves a registry, with the process's own figures, in Prometheus's text format at `/metrics`. */
export const metricsApp = (registry: Registry): RequestListener => {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_EVERY_MS })
  return async (req, res) => {
    if (req.url !== '/metrics') return void res.writeHead(404).end()
    res.writeHead(200, { 'Content-Type': registry.contentType }).end(await registry.metrics())
  }
}
