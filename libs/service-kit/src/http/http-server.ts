import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that listens. `stop` answers what is under way and then closes. */
export type HttpServer = { port: number; stop(): Promise<void> }

// Longer than the idle time of usual proxies, so that they and not we close an idle connection.
const KEEP_ALIVE_MS = 75_000

/** Listens on `port`, or on a free one when it is 0. @throws when the port is taken */
export const listen = async (handler: RequestListener, port: number): Promise<HttpServer> => {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 60_000 })
  const underWay = new Set<ServerResponse>()
  let stopping = false

  server.on('request', (req, res) => {
    underWay.add(res)
    res.once('close', () => underWay.delete(res))
    if (stopping) lastOfItsConnection(res)
    handler(req, res)
  })
  server.listen(port)
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      stopping = true
      for (const res of underWay) lastOfItsConnection(res)
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}

/** Tells the client not to send another request on this connection, which ends with the answer. */
const lastOfItsConnection = (res: ServerResponse): void => {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}
