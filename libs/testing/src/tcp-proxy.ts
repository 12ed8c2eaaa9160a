import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'

/** A proxy that can interrupt the connections to a server; `port` stays the same. */
export type TcpProxy = {
  port: number
  /** Number of connections so far. */
  accepted(): number
  /** Number of connections that clients still have open. */
  open(): number
  /** Breaks every connection and refuses new ones, like a stopped server. */
  cut(): Promise<void>
  /** Breaks every connection and accepts new ones, like a network that loses its state. */
  reset(): void
  /** Keeps connections open and forwards nothing, like a server that hangs or a network that drops packets. */
  freeze(): void
  /** Forwards requests and drops the responses. */
  swallowAnswers(): void
  /** Limits each direction of a connection to a rate in bytes per second, and delays each chunk by `latencyMs`. */
  slowDown(options: { bytesPerSecond: number; latencyMs: number }): void
  /** Forwards everything again, including what was held back. Connections that lost data are broken. */
  restore(): Promise<void>
  stop(): Promise<void>
}

/** Starts a proxy for the server at `url` (its host and port). */
export const startTcpProxy = async (url: string): Promise<TcpProxy> => {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let accepted = 0
  const clients = new Set<Socket>()
  let frozen = false
  let swallowing = false
  let slow: { bytesPerSecond: number; latencyMs: number; over: AbortSignal } | undefined
  let endSlowness = (): void => {}

  const carry = async (chunk: Buffer, from: Socket, to: Socket): Promise<void> => {
    if (slow) {
      from.pause()
      const tookMs = slow.latencyMs + (chunk.length / slow.bytesPerSecond) * 1000
      await sleep(tookMs, undefined, { signal: slow.over }).catch(() => {})
      if (!frozen) from.resume()
    }
    to.write(chunk)
  }

  const keep = (socket: Socket): void => {
    sockets.add(socket)
    if (frozen) socket.pause()
    socket.once('close', () => sockets.delete(socket))
    // Tests break connections on purpose; the close informs the other side.
    socket.on('error', () => socket.destroy())
  }
  const open = () =>
    createServer({ allowHalfOpen: true }, (client) => {
      accepted++
      clients.add(client)
      client.once('close', () => clients.delete(client))
      const upstream = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
      keep(client)
      keep(upstream)
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        // Later data stays behind a delayed chunk.
        let last = Promise.resolve()
        from.on('data', (chunk) => {
          if (swallowing && from !== client) return
          last = last.then(() => carry(chunk, from, to))
        })
        from.on('end', () => {
          last = last.then(() => void to.end())
        })
        from.once('close', () => to.destroy())
      }
    })

  // While it is cut, no outgoing connection may take its port.
  const ownPort = await freePort()
  let server = open()
  server.listen(ownPort)
  await once(server, 'listening')

  const cut = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    port: ownPort,
    accepted: () => accepted,
    open: () => clients.size,
    cut,
    reset: () => {
      for (const socket of sockets) socket.destroy()
    },
    freeze: () => {
      frozen = true
      for (const socket of sockets) socket.pause()
    },
    swallowAnswers: () => {
      swallowing = true
    },
    slowDown: (options) => {
      const slowness = new AbortController()
      slow = { ...options, over: slowness.signal }
      endSlowness = () => slowness.abort()
    },
    restore: async () => {
      if (swallowing) for (const socket of sockets) socket.destroy()
      frozen = false
      swallowing = false
      slow = undefined
      endSlowness()
      for (const socket of sockets) socket.resume()
      if (server.listening) return
      server = open()
      server.listen(ownPort)
      await once(server, 'listening')
    },
    stop: cut,
  }
}
