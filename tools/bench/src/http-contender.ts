import autocannon from 'autocannon'
import type { Contender } from './benchmark.ts'
import { figuresOf, startMeasured } from './measured-process.ts'

/** A server to start and a request to send. Without a body it is a GET. */
export type HttpSide = {
  entry: string
  env: Record<string, string>
  /** Constant, or created for each request. */
  path: string | (() => string)
  headers: Record<string, string>
  /** Constant, or created for each request. */
  body?: string | (() => string)
  /** Sent once before the measurement, to fill caches. */
  firstPaths?: readonly string[]
}

const CONNECTIONS = 64
const BARE_ENTRY = 'tools/bench/src/bare-express.ts'

/** The baseline: a bare Express app that receives the same requests. */
export const bareSide = ({ path, body }: HttpSide, headers: Record<string, string> = {}): HttpSide => ({
  entry: BARE_ENTRY,
  env: {},
  path,
  headers,
  ...(body !== undefined && { body }),
})

/** Starts a server on its own core and sends as many requests as it can handle on 64 connections. */
export const startHttp = async (
  { entry, env, path, headers, body, firstPaths = [] }: HttpSide,
  options: { profileTo?: string | undefined } = {},
): Promise<Contender> => {
  const server = await startMeasured({ entry, env }, options)
  const url = `http://localhost:${server.port}`
  await warmUp(url, firstPaths)
  const request = {
    url: `${url}${typeof path === 'string' ? path : ''}`,
    ...(body === undefined
      ? { method: 'GET' as const, headers }
      : { method: 'POST' as const, headers: { 'Content-Type': 'application/json', ...headers } }),
    ...(typeof body === 'string' && { body }),
    ...(typeof body === 'function' && { requests: [repeatedly(() => ({ body: body() }))] }),
    ...(typeof path === 'function' && { requests: [repeatedly(() => ({ path: path() }))] }),
    connections: CONNECTIONS,
  }
  return {
    run: async (seconds) => {
      const before = await server.usage()
      const result = await autocannon({ ...request, duration: seconds })
      const after = await server.usage()
      const refused = result['4xx'] + result['5xx']
      if (refused > 0 || result.errors > 0) {
        throw new Error(`${refused} answers were errors and ${result.errors} requests failed`)
      }
      const count = result['2xx'] + result['3xx']
      return figuresOf({ count, seconds: result.duration, p99Ms: result.latency.p99 }, before, after)
    },
    stop: server.stop,
  }
}

const repeatedly = (change: () => object): autocannon.Request => ({
  setupRequest: (request) => ({ ...request, ...change() }),
})

const warmUp = async (url: string, paths: readonly string[]): Promise<void> => {
  const waiting = paths.values()
  const work = async (): Promise<void> => {
    for (const path of waiting) {
      const { status } = await fetch(url + path, { redirect: 'manual' })
      if (status >= 400) throw new Error(`${path} answers ${status}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
}
