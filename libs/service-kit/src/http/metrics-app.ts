import type { RequestListener } from 'node:http'
import { collectDefaultMetrics, type Registry } from 'prom-client'

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
