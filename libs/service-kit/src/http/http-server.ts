import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A server that listens. `stop` first goes on for `drainMs`, telling every client on a kept connection to open another
 * one, which a proxy in front sends elsewhere; then it answers what is under way, takes nothing new, and closes.
 */
export type HttpServer = { port: number; stop(options?: { drainMs?: number }): Promise<void> }

// Longer than the idle time of usual proxies, so that they and not we close an idle connection.
const KEEP_ALIVE_MS = 75_000
/** How long requests that are under way at a stop have to finish, in ms. */
const FINISH_MS = 5_000

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
  const connections = new Set<Socket>()
  server.on('connection', (connection) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  server.listen(port)
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    stop: async ({ drainMs = 0 } = {}) => {
      stopping = true
      for (const res of underWay) lastOfItsConnection(res)
      await sleep(drainMs)
      const closed = once(server, 'close')
      server.close()
      // A connection on which nothing was ever asked counts as busy for Node, and would hold up the end.
      const busy = new Set([...underWay].map(({ socket }) => socket))
      for (const connection of connections) if (!busy.has(connection)) connection.destroy()
      const impatient = setTimeout(() => server.closeAllConnections(), FINISH_MS)
      await closed
      clearTimeout(impatient)
    },
  }
}

/** Tells the client not to send another request on this connection, which ends with the answer. */
const lastOfItsConnection = (res: ServerResponse): void => {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}
