import type { RequestListener } from 'node:http'
import { ALIVE, NOT_READY } from './http/create-http-app.ts'
import { type HttpServer, listen } from './http/http-server.ts'
import type { HttpConfig } from './platform-config.ts'
import type { Scope } from './scope.ts'

/** The server of an app that waits for migrations, on the port of its requests. */
export type WaitingServer = { open(): Promise<void>; close(): Promise<void> }

/**
 * Answers health checks while an app waits for migrations: it is alive, but not ready, so that it gets no requests and is
 * not restarted.
 */
export const createWaitingServer = (
  { port, host }: Pick<HttpConfig, 'port' | 'host'>,
  scope: Scope,
): WaitingServer => {
  let server: HttpServer | undefined
  const close = async (): Promise<void> => {
    await server?.stop()
    server = undefined
  }
  scope.onStop('waiting server', close)
  return {
    open: async () => {
      server ??= await listen(answer, port, host)
    },
    close,
  }
}

const answer: RequestListener = (request, response) => {
  const alive = request.url === '/healthz'
  const body = JSON.stringify(alive ? ALIVE : NOT_READY)
  response.writeHead(alive ? 200 : 503, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...(!alive && { 'Retry-After': '5' }),
  })
  response.end(body)
}
