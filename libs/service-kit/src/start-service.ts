import type { Log } from '@waymark/contracts'
import { createHttpApp } from './http/create-http-app.ts'
import { listen } from './http/http-server.ts'
import { metricsApp } from './http/metrics-app.ts'
import { startLoop } from './loop.ts'
import type { Platform } from './platform.ts'
import type { HttpConfig } from './platform-config.ts'
import type { Scope } from './scope.ts'
import type { Service } from './service.ts'

/** A service at work: where it answers. */
export type StartedService = { port: number; metricsPort: number }

/**
 * Starts a service: its consumers and loops, then its HTTP. When the scope ends it is the other way round,
 * so that nothing is accepted any more before what was accepted is finished.
 * @throws when a port is taken
 */
export const startService = async (
  { routes = [], consumers = [], loops = [] }: Service,
  http: Omit<HttpConfig, 'drainMs'> & Partial<Pick<HttpConfig, 'drainMs'>>,
  { log, metrics, tracer }: Pick<Platform, 'log' | 'metrics' | 'tracer'>,
  scope: Scope,
): Promise<StartedService> => {
  scope.onStop('consumers', () => Promise.all(consumers.map((consumer) => consumer.stop())))
  for (const consumer of consumers) await consumer.start()
  const started = loops.map((loop) => startLoop(loop, log))
  scope.onStop('loops', () => Promise.all(started.map((loop) => loop.stop())))

  const metricsServer = await listenForMetrics(http.metricsPort, metrics, log)
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
  const server = await listen(app, http.port)
  scope.onStop('http', () => {
    ready = false
    return server.stop({ drainMs: http.drainMs ?? 0 })
  })
  return { port: server.port, metricsPort: metricsServer?.port ?? 0 }
}

/** Figures are worth less than the service: it starts without them when their port is taken. */
const listenForMetrics = async (port: number, metrics: Platform['metrics'], log: Log) => {
  try {
    return await listen(metricsApp(metrics), port)
  } catch (error) {
    log.warn({ port, err: error }, 'the port for metrics is taken; set METRICS_PORT to another')
    return undefined
  }
}
