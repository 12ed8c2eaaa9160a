import { getIndex } from '@waymark/contracts/http/documentation'
import { prefersHtml, type Route, route } from '@waymark/service-kit'
import packageJson from '../../package.json' with { type: 'json' }

/** What the index shows of the process. */
export type ProcessInfo = {
  /** The apps that run in it. */
  apps: readonly string[]
  /** Where `/metrics` is answered; 0 when the operating system chooses the port. */
  metricsPort: number
}

const HEADERS = { Vary: 'Accept', 'Cache-Control': 'no-cache' }

/** The apps that this process runs and the addresses to continue with, as JSON; browsers are redirected to the console. */
export const indexRoute = ({ apps, metricsPort }: ProcessInfo): Route => {
  const index = {
    name: 'Waymark',
    version: packageJson.version,
    apps,
    console: '/console/',
    docs: '/docs',
    openapi: '/openapi.json',
    health: '/healthz',
    readiness: '/readyz',
    metrics: { path: '/metrics', ...(metricsPort !== 0 && { port: metricsPort }) },
  }
  return route(getIndex, (request) =>
    prefersHtml(request)
      ? { status: 302, headers: { ...HEADERS, Location: '/console/' } }
      : { headers: HEADERS, body: index },
  )
}
